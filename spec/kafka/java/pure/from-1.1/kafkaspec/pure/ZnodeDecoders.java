package kafkaspec.pure;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Base64;
import kafkaspec.Json;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.util.Either;

/**
 * The decoders of `ZkData.scala`. A case: `object`, the name of one there; its `method`; `data`, in Base64.
 * The answer: the decoded value as it prints itself; null if it is refused, or there is none.
 */
final class ZnodeDecoders implements Call {
    @Override
    public JsonNode answer(JsonNode given) throws ReflectiveOperationException {
        Class<?> type = Class.forName("kafka.zk." + Json.field(given, "object").asText() + "$");
        String name = Json.field(given, "method").asText();
        byte[] data = Base64.getDecoder().decode(Json.field(given, "data").asText());
        Method decode = Arrays.stream(type.getDeclaredMethods())
            .filter(method -> method.getName().equals(name))
            .findAny().orElseThrow(() -> new Json.Malformed("no " + name + " in " + type.getSimpleName()));
        Object[] arguments = Arrays.stream(decode.getParameterTypes()).map(each -> argument(each, data)).toArray();
        try {
            return shown(decode.invoke(type.getField("MODULE$").get(null), arguments));
        } catch (InvocationTargetException refused) {
            return NullNode.instance;
        }
    }

    private static Object argument(Class<?> type, byte[] data) {
        if (type == byte[].class) {
            return data;
        }
        if (type == String.class) {
            return "t";
        }
        if (type == long.class) {
            return 0L;
        }
        return type == int.class ? (Object) 0 : new Stat();
    }

    private static JsonNode shown(Object read) {
        if (read instanceof Either<?, ?> either) {
            return shown(either.right().toOption());
        }
        if (read instanceof Option<?> option) {
            return option.isEmpty() ? NullNode.instance : shown(option.get());
        }
        return TextNode.valueOf(String.valueOf(read));
    }
}
