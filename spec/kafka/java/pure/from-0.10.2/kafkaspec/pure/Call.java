package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;

/** Something that Kafka computes, without a thread or a network. */
public interface Call {
    /** What Kafka makes of a case. */
    JsonNode answer(JsonNode given) throws Exception;
}
