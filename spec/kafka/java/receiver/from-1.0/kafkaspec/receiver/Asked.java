package kafkaspec.receiver;

import java.net.InetAddress;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.network.Send;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/** The channel of a request until Kafka 2.5; it keeps the response. */
final class Asked extends RequestContext {
    private AbstractResponse answer;

    Asked(ApiKeys api, short version) {
        super(
            new RequestHeader(api, version, "controller", 0), "", InetAddress.getLoopbackAddress(),
            KafkaPrincipal.ANONYMOUS, new ListenerName("PLAINTEXT"), SecurityProtocol.PLAINTEXT);
    }

    AbstractResponse answer() {
        return answer;
    }

    @Override
    public Send buildResponse(AbstractResponse response) {
        answer = response;
        return super.buildResponse(response);
    }
}
