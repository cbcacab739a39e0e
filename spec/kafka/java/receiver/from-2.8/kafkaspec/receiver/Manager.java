package kafkaspec.receiver;

import java.util.concurrent.BlockingQueue;
import kafka.controller.QueueItem;
import kafkaspec.Configuration;
import scala.Function0;

/** A controller's channels with visible queues; counts the requests that they do not send. */
final class Manager extends StartedChannels {
    private static final int CONTROLLER = 9;

    private int notSent;

    Manager() {
        super(Configuration.of(CONTROLLER));
    }

    BlockingQueue<QueueItem> queue(int broker) {
        return brokerStateInfo().apply(broker).messageQueue();
    }

    @Override
    public void warn(Function0<String> message) {
        if (message.apply().startsWith("Not sending request")) {
            notSent++;
        }
    }

    /** The number of such requests since the last call. */
    int notSent() {
        int count = notSent;
        notSent = 0;
        return count;
    }
}
