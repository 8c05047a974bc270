import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads bodies as Java's servers do: Jackson into a tree, into objects, and into objects without regard to case. See ../README.md. */
public class Parse {
    static final String[] NAMES = {"model", "stream", "system", "prompt", "input", "tools"};

    public static class Message {
        public JsonNode role, content;
    }

    public static class Request {
        public JsonNode model, stream, system, prompt, input, tools;
        public List<Message> messages;
    }

    static Object into(ObjectMapper mapper, byte[] raw) {
        Request r;
        try {
            r = mapper.readValue(raw, Request.class);
        } catch (java.io.IOException e) {
            return null;
        }
        if (r == null) return null;
        Map<String, Object> out = new LinkedHashMap<>();
        JsonNode[] values = {r.model, r.stream, r.system, r.prompt, r.input, r.tools};
        for (int i = 0; i < NAMES.length; i++) out.put(NAMES[i], values[i]);
        List<Object> pairs = r.messages == null ? null : new ArrayList<>();
        for (int i = 0; pairs != null && i < r.messages.size(); i++) {
            Message m = r.messages.get(i);
            List<Object> pair = new ArrayList<>();
            pair.add(m == null ? null : m.role);
            pair.add(m == null ? null : m.content);
            pairs.add(pair);
        }
        out.put("messages", pairs);
        return out;
    }

    static Object tree(ObjectMapper mapper, byte[] raw) {
        JsonNode body;
        try {
            body = mapper.readTree(raw);
        } catch (java.io.IOException e) {
            return null;
        }
        if (body == null || !body.isObject()) return null;
        Map<String, Object> out = new LinkedHashMap<>();
        for (String name : NAMES) out.put(name, body.get(name));
        List<Object> pairs = body.path("messages").isArray() ? new ArrayList<>() : null;
        if (pairs != null) {
            for (JsonNode m : body.get("messages")) {
                List<Object> pair = new ArrayList<>();
                pair.add(m.get("role"));
                pair.add(m.get("content"));
                pairs.add(pair);
            }
        }
        out.put("messages", pairs);
        return out;
    }

    public static void main(String[] args) throws Exception {
        ObjectMapper plain = JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
        ObjectMapper loose = JsonMapper.builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(MapperFeature.ACCEPT_CASE_INSENSITIVE_PROPERTIES).build();
        ObjectMapper ascii = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            byte[] raw = Base64.getDecoder().decode(line);
            Map<String, Object> out = new LinkedHashMap<>();
            out.put("java tree", tree(plain, raw));
            out.put("java object", into(plain, raw));
            out.put("java object, any case", into(loose, raw));
            System.out.println(ascii.writeValueAsString(out));
        }
    }
}
