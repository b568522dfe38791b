// Quotas and limits of control groups, of version 1 and 2, in containers and outside, are read from files made here.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "cpu/threading/cpus.hpp"
#include "cpu/threading/groups.hpp"

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

const std::string kSecond = "31 22 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kFirst = "33 31 0:29 /docker/ab /sys/fs/cgroup/cpu,cpuacct rw master:11 - cgroup cgroup rw,cpu,cpuacct\n";
const std::string kOther =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
    "34 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

// The value that `read` finds in the files.
template <class Read>
void check(const std::string& name, const Files& files, std::int64_t expected, const Read& read) {
  const std::filesystem::path root = std::filesystem::temp_directory_path() / ("ozfp4_groups_check_" + std::to_string(getpid()));
  for (const auto& [path, text] : files) {
    const std::filesystem::path file = root.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::int64_t found = read(root.string());
  report(name, found == expected, std::to_string(found) + " instead of " + std::to_string(expected));
  std::filesystem::remove_all(root);
}

void check(const std::string& name, const Files& files, int expected) { check(name, files, expected, ozfp4::quota_cpus); }

void check_memory(const std::string& name, const Files& files, std::int64_t expected) {
  check(name, files, expected, ozfp4::memory_bytes);
}

void check_second_version() {
  const auto with = [](const std::string& group, const Files& limits) {
    Files files{{"/proc/self/mountinfo", kOther + kSecond}, {"/proc/self/cgroup", "0::" + group + "\n"}};
    files.insert(files.end(), limits.begin(), limits.end());
    return files;
  };
  const std::string base = "/sys/fs/cgroup";
  check("no quota", with("/", {{base + "/cpu.max", "max 100000\n"}}), 0);
  check("no file", with("/a/b", {}), 0);
  check("two CPUs", with("/", {{base + "/cpu.max", "200000 100000\n"}}), 2);
  check("rounded up", with("/", {{base + "/cpu.max", "250000 100000\n"}}), 3);
  check("less than one", with("/", {{base + "/cpu.max", "1000 100000\n"}}), 1);
  check("another period", with("/", {{base + "/cpu.max", "60000 20000\n"}}), 3);
  check("the process's group", with("/a/b", {{base + "/a/b/cpu.max", "400000 100000\n"}}), 4);
  check("a group above", with("/a/b", {{base + "/a/cpu.max", "150000 100000\n"}, {base + "/a/b/cpu.max", "max 100000\n"}}), 2);
  check("the least", with("/a/b", {{base + "/a/cpu.max", "900000 100000\n"}, {base + "/a/b/cpu.max", "500000 100000\n"}}), 5);
  check("nonsense", with("/", {{base + "/cpu.max", "many of them\n"}}), 0);
  check("no period", with("/", {{base + "/cpu.max", "200000\n"}}), 0);
  check("more than fit", with("/", {{base + "/cpu.max", "9000000000000000 1\n"}}), 65536);
  const std::int64_t all = ozfp4::memory_bytes("/nowhere");
  check_memory("memory", with("/", {{base + "/memory.max", "max\n"}}), all);
  check_memory("memory: no file", with("/a", {}), all);
  check_memory("memory: a limit", with("/a/b", {{base + "/a/b/memory.max", "1048576\n"}}), 1 << 20);
  check_memory("memory: one above", with("/a/b", {{base + "/a/memory.max", "65536\n"}, {base + "/a/b/memory.max", "max\n"}}),
               65536);
}

void check_first_version() {
  const auto with = [](const std::string& mounts, const std::string& group, const Files& limits) {
    Files files{{"/proc/self/mountinfo", kOther + mounts},
                {"/proc/self/cgroup", "5:cpuset:" + group + "\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/x\n"}};
    files.insert(files.end(), limits.begin(), limits.end());
    return files;
  };
  const std::string base = "/sys/fs/cgroup/cpu,cpuacct";
  const auto quota = [](const std::string& folder, const std::string& us) {
    return Files{{folder + "/cpu.cfs_quota_us", us + "\n"}, {folder + "/cpu.cfs_period_us", "100000\n"}};
  };
  check("v1: no quota", with(kFirst, "/docker/ab", quota(base, "-1")), 0);
  check("v1: a container's", with(kFirst, "/docker/ab", quota(base, "350000")), 4);
  check("v1: less than one", with(kFirst, "/docker/ab", quota(base, "50000")), 1);
  check("v1: a group of a container", with(kFirst, "/docker/ab/in", quota(base + "/in", "200000")), 2);
  check("v1: a group that is not mounted", with(kFirst, "/docker/abc", quota(base, "200000")), 2);
  check("v1: a blank in the path",
        with("33 31 0:29 / /sys/cg\\040v1 rw - cgroup cgroup rw,cpu\n", "/", quota("/sys/cg v1", "300000")), 3);
  const std::string mount = "35 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  check_memory("v1: memory",
               {{"/proc/self/mountinfo", kOther + mount},
                {"/proc/self/cgroup", "3:memory:/x\n"},
                {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n"}},
               4096);
  check("both versions", with(kFirst + kSecond, "/docker/ab", quota(base, "600000")), 6);
}

}  // namespace

int main() {
  check("no control groups", {}, 0);
  check_second_version();
  check_first_version();
  report("the machine's memory", ozfp4::memory_bytes("/nowhere") > 1 << 20);
  report("CPUs of this thread", ozfp4::available_cpus() >= 1);
  return finish();
}
