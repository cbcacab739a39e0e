package kafkaspec.receiver;

import kafka.server.AdminManager;
import kafka.server.ClientRequestQuotaManager;
import kafka.server.QuotaFactory.QuotaManagers;
import kafkaspec.Fields;

/** The managers beside a ReplicaManager in Kafka 1.1. They have no threads. */
final class Managers {
    private Managers() { }

    /** Throttles nothing: a quota manager that was never constructed has no quotas. */
    static QuotaManagers quotas() {
        ClientRequestQuotaManager none = Stubs.unmade(ClientRequestQuotaManager.class);
        return new QuotaManagers(null, null, none, null, null, null);
    }

    /** Knows only that no administrator's request waits. */
    static AdminManager adminManager() {
        AdminManager idle = Stubs.unmade(AdminManager.class);
        Fields.set(idle, "topicPurgatory", Surroundings.purgatory("topic"));
        return idle;
    }
}
