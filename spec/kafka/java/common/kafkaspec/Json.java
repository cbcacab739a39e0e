package kafkaspec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * JSON by the Jackson that comes with Kafka, without checked exceptions.
 * Unreadable input is Malformed.
 */
public final class Json {
    /** Text that is not JSON, or lacks something. */
    public static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Malformed(String message) {
            super(message);
        }
    }

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() { }

    public static ObjectNode object() {
        return MAPPER.createObjectNode();
    }

    public static ArrayNode array() {
        return MAPPER.createArrayNode();
    }

    public static JsonNode read(byte[] json) {
        try {
            return MAPPER.readTree(json);
        } catch (JsonProcessingException malformed) {
            throw new Malformed(malformed.getOriginalMessage());
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    /** A required field. */
    public static JsonNode field(JsonNode node, String name) {
        JsonNode field = node.get(name);
        if (field == null) {
            throw new Malformed("no " + name + " in " + node);
        }
        return field;
    }

    public static byte[] bytes(JsonNode node) {
        try {
            return MAPPER.writeValueAsBytes(node);
        } catch (JsonProcessingException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }
}
