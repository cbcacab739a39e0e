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
        def about = [ready: AppInfoParser.version, java: System.getProperty('java.version')]
        answers.println(JSON.writeValueAsString(about))
        answers.flush()
        System.in.eachLine('UTF-8') { line ->
            answers.println(JSON.writeValueAsString(answered(JSON.readValue(line, Map))))
            answers.flush()
        }
        System.exit(0)
    }

    private static List answered(Map given) {
        def cluster = new Cluster(given)
        try {
            given.commands.withIndex().collect { command, number ->
                try {
                    [answer: cluster.perform(command), state: cluster.state()]
                } catch (Throwable failed) {
                    failed.printStackTrace()
                    System.err.println("command $number, $command: $failed".replaceAll(/\s+/, ' '))
                    Runtime.runtime.halt(1)
                }
            }
        } finally {
            cluster.close()
        }
    }
}
