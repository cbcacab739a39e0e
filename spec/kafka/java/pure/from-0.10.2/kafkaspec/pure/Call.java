package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;

/** A computation of Kafka's without threads or network. */
public interface Call {
    /** Kafka's answer to a case. */
    JsonNode answer(JsonNode given) throws Exception;
}
