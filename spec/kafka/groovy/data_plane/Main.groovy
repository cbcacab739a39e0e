package data_plane

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.kafka.common.utils.AppInfoParser
import org.slf4j.Logger
import org.slf4j.LoggerFactory

/** Answers each case, a line of JSON, with a line: the answer and the state after each of its commands. */
class Main {
    private static final JSON = new ObjectMapper()

    static void main(String[] arguments) {
        def answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, 'UTF-8')
        System.setOut(System.err)  // what libraries print must not look like an answer
        def log = LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME)
        if (log.hasProperty('level')) {
            log.level = log.level.OFF
        }
        answers.println(JSON.writeValueAsString([kafka: AppInfoParser.version, java: Runtime.version().toString()]))
        answers.flush()
        System.in.eachLine('UTF-8') { line ->
            answers.println(JSON.writeValueAsString(answered(JSON.readValue(line, Map))))
            answers.flush()
        }
        Runtime.runtime.halt(0)
    }

    private static List answered(Map given) {
        def cluster = new Cluster(given)
        try {
            given.commands.collect { [answer: cluster.perform(it), state: cluster.state()] }
        } finally {
            cluster.close()
        }
    }
}
