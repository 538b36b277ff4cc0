//! The programs and their words.

use hookbox_judge::{Preset, Step};

use super::{DISK, Row, firsts};

const fn standard(
    programs: &'static str,
    words: &'static str,
    what: &'static str,
    safer: &'static str,
) -> Row {
    Row { programs, firsts: firsts(programs), words, what, safer, step: Step::Look, from: Preset::Standard }
}

const fn always(programs: &'static str, words: &'static str, what: &'static str, safer: &'static str) -> Row {
    Row { programs, firsts: firsts(programs), words, what, safer, step: Step::Look, from: Preset::Relaxed }
}

const fn strict(programs: &'static str, words: &'static str, what: &'static str, safer: &'static str) -> Row {
    Row { programs, firsts: firsts(programs), words, what, safer, step: Step::Look, from: Preset::Strict }
}

/// Returns a row whose command replaces the denied one.
const fn instead(row: Row) -> Row {
    Row { step: Step::Replace, ..row }
}

const VOLUME: &str = "removes volumes with their data";
const RESOURCE: &str = "removes resources in a cloud or cluster";
pub(super) const DATABASE: &str = "drops or empties a database";
const FIREWALL: &str = "removes the rules of the firewall";
const SNAPSHOT: &str = "removes backups or snapshots";

/// The programs that destroy.
pub(crate) const TABLE: &[Row] = &[
    // The firewall.
    always(
        "iptables ip6tables ebtables arptables",
        "-F|--flush|-X|--delete-chain",
        FIREWALL,
        "iptables-save",
    ),
    always("iptables ip6tables ebtables arptables", "-P|--policy DROP", FIREWALL, "iptables-save"),
    always("nft", "flush ruleset|table|chain", FIREWALL, "nft list ruleset"),
    always("pfctl", "-F", FIREWALL, "pfctl -s rules"),
    always("ufw", "reset|disable", FIREWALL, "ufw status"),
    // Disks.
    always("mkfs mkfs.* mke2fs mkswap newfs newfs_* mkdosfs mkntfs", "", DISK, "lsblk -f"),
    always("wipefs", "-a|--all !-n|--no-act", DISK, "wipefs --no-act"),
    always("blkdiscard", "", DISK, "lsblk -f"),
    instead(always("badblocks", "-w", DISK, "badblocks -n")),
    always("hdparm", "--security-erase|--security-erase-enhanced|--trim-sector-ranges", DISK, "hdparm -I"),
    always("nvme", "format|sanitize|delete-ns", DISK, "nvme list"),
    always("fdisk gdisk cfdisk sfdisk", "!-l|--list|-d|--dump|-J|--json|-v|-s", DISK, "lsblk -f"),
    always("sgdisk", "-Z|--zap-all|-z|--zap|-o|--clear|-d|--delete|-n|--new", DISK, "sgdisk --print"),
    always("parted", "mklabel|mktable|rm|mkpart|resizepart", DISK, "parted --list"),
    always(
        "cryptsetup",
        "luksFormat|luksErase|erase|reencrypt|luksRemoveKey|luksKillSlot",
        DISK,
        "cryptsetup status",
    ),
    always("mdadm", "--zero-superblock|--stop|-S|--create|--fail|--remove", DISK, "mdadm --detail --scan"),
    always("lvremove vgremove pvremove lvreduce", "", "removes a volume", "lvs"),
    always("zpool", "destroy|labelclear|split", "destroys a pool", "zpool status"),
    always("zfs", "destroy|rollback", SNAPSHOT, "zfs list -t all"),
    always("btrfs", "subvolume delete|del", SNAPSHOT, "btrfs subvolume list ."),
    always(
        "diskutil",
        "erase*|partition*|zeroDisk|secureErase|randomDisk|reformat|delete*",
        "erases a disk",
        "diskutil list",
    ),
    always("diskutil", "apfs delete*|erase*", "erases a disk", "diskutil apfs list"),
    always("tmutil", "delete*", SNAPSHOT, "tmutil listbackups"),
    always("format format.com diskpart", "!--help", "formats a disk", "lsblk -f"),
    always("vssadmin", "delete", SNAPSHOT, "vssadmin list shadows"),
    standard("swapoff", "-a", "turns off the swap space", "swapon --show"),
    standard("mount", "-o remount,ro", "makes a file system read-only", "findmnt"),
    always(
        "userdel deluser",
        "-r|--remove|--remove-home|--remove-all-files",
        "removes a user with the home directory",
        "id",
    ),
    standard("trash-empty", "", "empties the trash", "trash-list"),
    standard("gio", "trash --empty", "empties the trash", "gio trash --list"),
    standard("crontab", "-r", "removes all timed commands", "crontab -l"),
    // Containers.
    standard("docker podman nerdctl", "volume rm|remove|prune", VOLUME, "docker volume ls"),
    standard("docker podman nerdctl", "system prune --volumes", VOLUME, "docker system df"),
    strict("docker podman nerdctl", "system prune", "removes images and containers", "docker system df"),
    standard("podman", "system reset", VOLUME, "podman system df"),
    instead(standard(
        "docker podman nerdctl docker-compose",
        "down -v|--volumes",
        VOLUME,
        "docker compose stop",
    )),
    standard("docker podman docker-compose", "compose rm -v", VOLUME, "docker compose ps"),
    standard("docker podman nerdctl", "rm -v", VOLUME, "docker ps --all"),
    standard("docker podman nerdctl", "rm *…)|$(*|{} -f", "removes all containers", "docker ps --all"),
    standard("docker", "swarm leave -f|--force", RESOURCE, "docker node ls"),
    standard("docker", "stack rm|remove", RESOURCE, "docker stack ls"),
    standard("docker", "context rm -f", RESOURCE, "docker context ls"),
    standard("crictl", "rm|rmi|rmp -f|--force|-a|--prune|--all", "removes containers", "crictl ps"),
    standard("etcdctl", "del", "removes keys", "etcdctl get --prefix --keys-only"),
    standard("kubectl oc", "!auth !config !explain delete", RESOURCE, "kubectl get all"),
    standard("kubectl oc", "replace --force", RESOURCE, "kubectl diff"),
    standard("kubectl oc", "drain --force|--delete-emptydir-data", RESOURCE, "kubectl get nodes"),
    standard("helm", "uninstall|delete|del|un", RESOURCE, "helm list"),
    standard("helmfile", "destroy|delete", RESOURCE, "helmfile diff"),
    standard("argocd", "app delete", RESOURCE, "argocd app list"),
    standard("flux", "uninstall", RESOURCE, "flux get all"),
    standard("k3d kind minikube colima limactl multipass", "delete", RESOURCE, "docker ps --all"),
    standard("lxc incus", "delete|rm", RESOURCE, "lxc list"),
    standard("vagrant", "destroy", RESOURCE, "vagrant status"),
    standard("virsh", "undefine|destroy|vol-delete|pool-delete", RESOURCE, "virsh list --all"),
    standard("nomad", "job stop -purge|--purge", RESOURCE, "nomad job status"),
    standard("nomad", "namespace delete", RESOURCE, "nomad namespace list"),
    standard("nomad", "system gc", RESOURCE, "nomad job status"),
    // Clouds.
    standard(
        "terraform tofu terragrunt",
        "destroy|destroy-all|run-all|run",
        RESOURCE,
        "terraform plan -destroy",
    ),
    standard("terraform tofu terragrunt", "apply -destroy|--destroy", RESOURCE, "terraform plan -destroy"),
    standard("terraform tofu terragrunt", "state rm", "forgets resources", "terraform state list"),
    standard("terraform tofu terragrunt", "workspace delete", RESOURCE, "terraform workspace list"),
    standard("pulumi", "destroy|down|dn", RESOURCE, "pulumi preview"),
    standard("pulumi", "stack rm", RESOURCE, "pulumi stack ls"),
    standard("cdk cdktf", "destroy", RESOURCE, "cdk diff"),
    standard("sam", "delete", RESOURCE, "sam list resources"),
    standard("serverless sls sst", "remove", RESOURCE, "serverless info"),
    standard("aws", "s3 rb", "removes a bucket", "aws s3 ls"),
    standard("aws", "s3 rm --recursive", "removes the contents of a bucket", "aws s3 ls"),
    standard("aws", "s3 sync --delete", "removes the contents of a bucket", "aws s3 sync --dryrun"),
    standard(
        "aws",
        "delete-*|terminate-*|schedule-key-deletion|deregister-*|purge-queue|remove-*",
        RESOURCE,
        "aws sts get-caller-identity",
    ),
    standard("az", "delete|delete-batch|purge", RESOURCE, "az resource list"),
    standard("gcloud", "delete", RESOURCE, "gcloud config list"),
    standard("gcloud", "storage rm", "removes the contents of a bucket", "gcloud storage ls"),
    standard("gsutil", "rm -r|-R", "removes the contents of a bucket", "gsutil ls"),
    standard("gsutil", "rb", "removes a bucket", "gsutil ls"),
    standard("gsutil", "rsync -d", "removes the contents of a bucket", "gsutil rsync -n"),
    standard("s3cmd", "del|rb -r|--recursive|-f|--force", "removes the contents of a bucket", "s3cmd ls"),
    standard("s3cmd", "rb", "removes a bucket", "s3cmd ls"),
    standard("mc", "rb", "removes a bucket", "mc ls"),
    standard("mc", "rm -r|--recursive", "removes the contents of a bucket", "mc ls"),
    standard("bq", "rm", DATABASE, "bq ls"),
    standard("rclone", "purge|delete|rmdirs", "removes remote files", "rclone lsf --dry-run"),
    standard("restic", "forget --prune", SNAPSHOT, "restic snapshots"),
    standard("borg", "delete|prune", SNAPSHOT, "borg list"),
    standard(
        "doctl hcloud linode-cli eksctl ibmcloud oci openstack",
        "delete|destroy|service-instance-delete",
        RESOURCE,
        "terraform plan",
    ),
    standard("heroku", "*:destroy|*:reset|*:delete", RESOURCE, "heroku apps"),
    standard("fly flyctl", "destroy|delete", RESOURCE, "fly status"),
    standard("railway", "delete|down", RESOURCE, "railway status"),
    standard("vercel", "rm|remove", RESOURCE, "vercel ls"),
    standard("netlify", "*:delete", RESOURCE, "netlify status"),
    standard("firebase", "*:delete", RESOURCE, "firebase projects:list"),
    standard("wrangler", "delete", RESOURCE, "wrangler whoami"),
    standard("vault", "kv destroy|delete", "removes secrets", "vault kv list"),
    standard("vault", "secrets disable", "removes secrets", "vault secrets list"),
    standard("consul", "kv delete -recurse", "removes keys", "consul kv get -keys"),
    standard("gh", "repo delete", "removes a repository", "gh repo view"),
    standard(
        "gh glab",
        "api DELETE|delete|-XDELETE|-Xdelete|--method=DELETE|--method=delete",
        "deletes something at the forge",
        "gh api --method GET",
    ),
    standard("gh", "api graphql *delete*", "deletes something at the forge", "gh api --method GET"),
    standard("gh", "release delete", "removes a release", "gh release list"),
    standard("ansible", "-a *state=absent*|rm*", "removes files on hosts", "ansible --check"),
    // Databases.
    always("dropdb dropuser", "", DATABASE, "psql -l"),
    always("mysqladmin", "drop", DATABASE, "mysqlshow"),
    standard("pg_restore", "-c|--clean", DATABASE, "pg_restore --list"),
    standard("mongorestore", "--drop", DATABASE, "mongorestore --dryRun"),
    standard("redis-cli valkey-cli", "del|unlink {}", DATABASE, "redis-cli dbsize"),
    standard("prisma pnpm yarn", "migrate reset", DATABASE, "prisma migrate status"),
    standard("prisma", "--force-reset", DATABASE, "prisma migrate status"),
    standard(
        "rails rake",
        "db:drop*|db:reset*|db:purge*|db:schema:load|db:migrate:reset",
        DATABASE,
        "rails db:migrate:status",
    ),
    standard("manage.py", "flush|reset_db", DATABASE, "python manage.py showmigrations"),
    standard("django-admin", "flush|reset_db", DATABASE, "django-admin check"),
    standard(
        "artisan",
        "db:wipe|migrate:fresh|migrate:reset|migrate:refresh",
        DATABASE,
        "php artisan migrate:status",
    ),
    standard(
        "console",
        "doctrine:database:drop|doctrine:schema:drop",
        DATABASE,
        "php bin/console doctrine:migrations:status",
    ),
    standard(
        "sequelize sequelize-cli",
        "db:drop|db:migrate:undo:all",
        DATABASE,
        "sequelize db:migrate:status",
    ),
    standard("typeorm", "schema:drop", DATABASE, "typeorm migration:show"),
    standard("knex", "migrate:rollback --all", DATABASE, "knex migrate:status"),
    standard("drizzle-kit", "drop", DATABASE, "drizzle-kit check"),
    standard("mix", "ecto.drop|ecto.reset", DATABASE, "mix ecto.migrations"),
    standard("alembic", "downgrade base", DATABASE, "alembic current"),
    standard("flask", "db downgrade base", DATABASE, "flask db current"),
    standard("flyway", "clean", DATABASE, "flyway info"),
    standard("liquibase", "drop-all|dropAll", DATABASE, "liquibase status"),
    standard("dbmate", "drop", DATABASE, "dbmate status"),
    standard("goose", "reset|down-to", DATABASE, "goose status"),
    standard("migrate", "drop", DATABASE, "migrate version"),
    standard("migrate", "down -all|--all", DATABASE, "migrate version"),
    standard("hasura", "migrate apply --down", DATABASE, "hasura migrate status"),
    standard("atlas", "schema clean", DATABASE, "atlas schema inspect"),
    standard("diesel", "database|db reset", DATABASE, "diesel migration list"),
    standard("sqlx", "database|db reset|drop", DATABASE, "sqlx migrate info"),
    standard("dotnet dotnet-ef", "database drop", DATABASE, "dotnet ef migrations list"),
    standard("supabase", "db reset", DATABASE, "supabase migration list"),
    standard("supabase", "projects delete", RESOURCE, "supabase projects list"),
    standard("turso neon neonctl pscale upstash xata", "destroy|delete", DATABASE, "turso db list"),
    standard("influx", "delete", DATABASE, "influx bucket list"),
    standard("kafka-topics kafka-topics.sh", "--delete", DATABASE, "kafka-topics --list"),
    standard("rabbitmqadmin", "delete", DATABASE, "rabbitmqadmin list queues"),
    standard(
        "rabbitmqctl",
        "reset|force_reset|delete_queue|delete_vhost|purge_queue",
        DATABASE,
        "rabbitmqctl status",
    ),
    standard("curl", "-X DELETE *:9200*", DATABASE, "curl --head http://localhost:9200"),
    standard("curl", "-XDELETE *:9200*", DATABASE, "curl --head http://localhost:9200"),
];
