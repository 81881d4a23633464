/**
 * Attempts to leave the sandbox. Each is a shell text that prints a secret or a mark if it gets out, or a check of the
 * host afterwards. `without` says that the same text works outside the sandbox, so that a mistake in the text cannot
 * look like protection. It is tried first.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  closeSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { createRuntime } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { createSandbox } from 'quittance/sandbox';
import { escaped, secret, type World } from './world.ts';

export type Escape = {
  readonly group: string;
  readonly name: string;
  /** Does the text work on the bare host? */
  readonly without?: true;
  readonly text?: (world: World) => string;
  /** Printed by a text that got as far as the attempt itself. */
  readonly tries?: RegExp;
  /** The tool whose rules apply; default: Bash, without network. */
  readonly tool?: string;
  /** With the small limits. */
  readonly small?: true;
  /** Instead of a text: makes the attempt itself. True if it got out. */
  readonly attempt?: (world: World) => Promise<boolean>;
  /** Looks at the host afterwards. True if it got out. */
  readonly after?: (world: World) => boolean | Promise<boolean>;
};

const arm = process.arch === 'arm64';
/** Runs a system call by its number; prints the mark if it succeeds. */
const call = (x64: number, arm64: number, ...words: readonly (number | string)[]): string =>
  `perl -e 'my $b = "\\0" x 120; my $r = syscall(${[arm ? arm64 : x64, ...words].join(', ')}); print $r == -1 ? "refused: $!\\n" : "${escaped}\\n"'`;

const mark = `echo ${escaped}`;
const prints = (text: string): string => `${text} && ${mark}`;

export const escapes: readonly Escape[] = [
  // Own files.
  {
    group: 'own files',
    name: 'read the ledger, its key, tokens and spill by name',
    without: true,
    text: () => `cat state/.quittance/ledger.db* | strings -n 8 2>/dev/null || cat state/.quittance/*`,
  },
  { group: 'own files', name: 'read them by a pattern', without: true, text: () => 'cat state/.q*/led*' },
  {
    group: 'own files',
    name: 'search the whole project',
    without: true,
    text: () => `grep -raoh ${secret} . --exclude=link-out --exclude=docker.sock`,
  },
  {
    group: 'own files',
    name: 'pack the project',
    without: true,
    text: () => 'tar cf - --exclude docker.sock . 2>/dev/null',
  },
  {
    group: 'own files',
    name: 'read through a link made inside',
    without: true,
    text: () => 'ln -s $PWD/state/.quittance/ledger.db-note l1; cat l1; rm -f l1',
  },
  {
    group: 'own files',
    name: 'read through a link made before',
    without: true,
    text: () => 'cat link-ledger',
  },
  {
    group: 'own files',
    name: 'read through a hard link made inside',
    without: true,
    text: () => 'ln state/.quittance/ledger.db-note h1; cat h1; rm -f h1',
  },
  {
    group: 'own files',
    name: 'read through a hard link made before',
    attempt: async ({ ledgerPath, project, sh }) => {
      const alias = join(project, 'alias');
      linkSync(`${ledgerPath}.tokens`, alias);
      try {
        return leaks(await sh('cat alias'));
      } catch {
        return false; // refused: the file has a second name
      } finally {
        rmSync(alias);
      }
    },
  },
  {
    group: 'own files',
    name: 'replace a folder that the rules name twice by a link',
    attempt: (world) => swapAndRead(world, 'twice', 'data', `rmdir data; ln -s ${world.other} data; true`),
  },
  {
    group: 'own files',
    name: 'replace a folder that the rules of another tool name by a link',
    attempt: (world) =>
      swapAndRead(world, 'narrow', 'notes', `rm -rf notes; ln -s ${world.other} notes; true`),
  },
  {
    group: 'own files',
    name: 'replace the folder above a read-only folder',
    attempt: (world) =>
      swapAndRead(
        world,
        'toolchain',
        'vendor/tc',
        `mv vendor v2; mkdir vendor; ln -s ${world.other} vendor/tc; true`,
      ),
  },
  {
    group: 'own files',
    name: 'rename their folder',
    text: () => 'mv state/.quittance state/q; cat state/q/*; rm -rf state/.quittance',
    after: ({ ledgerPath }) => !existsSync(ledgerPath),
  },
  {
    group: 'own files',
    name: 'rename a folder above, and forge a ledger at the old place',
    text: () => 'mv state s2; mkdir -p state/.quittance; echo forged > state/.quittance/ledger.db',
    after: ({ ledgerPath }) => readFileSync(ledgerPath, 'latin1').startsWith('forged'),
  },
  {
    group: 'own files',
    name: 'write next to the ledger',
    text: () => 'touch state/.quittance/planted',
    after: ({ project }) => existsSync(join(project, 'state/.quittance/planted')),
  },
  {
    group: 'own files',
    name: 'remove the cover',
    text: () => 'umount state/.quittance; umount -l state/.quittance; cat state/.quittance/*',
  },
  {
    group: 'own files',
    name: 'remove the cover in a new user namespace',
    text: () => `unshare -Urm sh -c 'umount -l state/.quittance; cat state/.quittance/*'`,
  },
  {
    group: 'own files',
    name: 'mount the project again in a new namespace',
    text: () => `unshare -Urm sh -c 'mkdir -p /tmp/m; mount --bind . /tmp/m; cat /tmp/m/state/.quittance/*'`,
  },
  {
    group: 'own files',
    name: 'open by inode number',
    tries: /refused: /,
    text: ({ ledgerPath }) =>
      // A handle of the project's folder, with the number of the ledger's file in it.
      `perl -e 'my $h = pack("Ii", 128, 0) . ("\\0" x 128); my $m = pack("i", 0); my $p = "."; syscall(${arm ? 264 : 303}, -100, $p, $h, $m, 0);
        substr($h, 8, 4) = pack("I", ${statSync(`${ledgerPath}.tokens`).ino}); open(my $d, "<", "."); 
        my $f = syscall(${arm ? 265 : 304}, fileno($d), $h, 0); print $f == -1 ? "refused: $!\\n" : "${escaped}\\n"'`,
  },
  {
    group: 'own files',
    name: 'read the disk',
    text: () =>
      `cat /dev/[sv]d* /dev/nvme* 2>/dev/null | head -c 100 | grep -q . && ${mark}; mknod /tmp/disk b 254 0 && ${mark}; debugfs -R 'ls /' /dev/vda`,
  },
  {
    group: 'own files',
    name: 'change the contract in force',
    text: () =>
      'echo "# weaker" >> rules.yaml; sed -i s/enforce/observe/ rules.yaml; cp a.txt x; mv -f x rules.yaml; rm -f rules.yaml x',
    after: ({ project }) =>
      !existsSync(join(project, 'rules.yaml')) ||
      !readFileSync(join(project, 'rules.yaml'), 'utf8').includes('mode: enforce }') ||
      readFileSync(join(project, 'rules.yaml'), 'utf8').includes('weaker'),
  },
  {
    group: 'own files',
    name: 'approve its own call with the command line',
    tries: /no ledger|needs a terminal|token/i,
    text: ({ root, ledgerPath, confirmation }) =>
      `node --conditions=quittance-source ${root}/src/cli/main.ts approve ${confirmation.id} --digest ${confirmation.digest} --by eve --ledger ${ledgerPath} 2>&1`,
    after: async ({ ledger }) => {
      const { rows } = await createRuntime({ tools: [], ledger }).confirmations.list({ status: 'pending' });
      return rows.length === 0;
    },
  },
  // Excluded files.
  { group: 'excluded', name: 'read .env', without: true, text: () => 'cat .env; cp .env e; cat e; rm -f e' },
  { group: 'excluded', name: 'read a sealed file of the host', without: true, text: () => 'cat private.pem' },
  {
    group: 'excluded',
    name: 'write a hook of git',
    text: () => `mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; mv .git g; mkdir -p .git/hooks`,
    after: ({ project }) =>
      existsSync(join(project, '.git/hooks/pre-commit')) || existsSync(join(project, 'g')),
  },
  {
    group: 'excluded',
    name: 'make an excluded file and have the call succeed',
    attempt: async ({ sandbox, project }) => {
      const { changedPaths } = await sandbox.run('Bash', ['touch', '.npmrc']);
      rmSync(join(project, '.npmrc'), { force: true });
      return changedPaths.length === 0;
    },
  },
  // Other folders.
  { group: 'folders', name: 'read another project', without: true, text: () => 'cat ../other/secret.txt' },
  { group: 'folders', name: 'read it through a link made before', without: true, text: () => 'cat link-out' },
  {
    group: 'folders',
    name: 'read it through /proc/self/root',
    without: true,
    text: ({ other }) => `cat /proc/self/root${other}/secret.txt`,
  },
  {
    group: 'folders',
    name: 'read it through /proc/1/root and other processes',
    text: ({ other }) =>
      `for p in /proc/[0-9]*; do cat $p/root${other}/secret.txt $p/cwd/../other/secret.txt; done`,
  },
  {
    group: 'folders',
    name: 'read open files of other processes',
    text: () => `for f in /proc/[0-9]*/fd/*; do timeout 1 head -c 65536 $f < /dev/null; done | strings`,
  },
  {
    group: 'folders',
    name: 'read accounts, homes, logs and the host name of the machine',
    text: () =>
      `cat /etc/shadow && ${mark}; ls /root /home /var /run /sys /boot /mnt 2>/dev/null | grep -q . && ${mark}; true`,
  },
  {
    group: 'folders',
    name: 'read the temporary folder of the host',
    text: ({ folder }) => `ls ${folder} | grep -v project && ${mark}`,
  },
  {
    group: 'folders',
    name: 'write outside',
    text: () => 'touch ../other/planted /usr/planted /etc/planted /planted /dev/planted',
    after: ({ other }) =>
      existsSync(join(other, 'planted')) ||
      ['/usr', '/etc', '', '/dev'].some((at) => existsSync(`${at}/planted`)),
  },
  {
    group: 'folders',
    name: 'make the system writable again',
    text: () => prints('mount -o remount,rw /usr && touch /usr/planted'),
  },
  { group: 'folders', name: 'chroot', text: ({ other }) => `chroot /proc/1/root cat ${other}/secret.txt` },
  {
    group: 'folders',
    name: 'enter the namespaces of another process',
    text: ({ other, victim }) =>
      `nsenter -t 1 -a cat ${other}/secret.txt; nsenter -t ${victim.pid} -m cat ${other}/secret.txt`,
  },
  {
    group: 'folders',
    name: 'use an inherited file descriptor',
    attempt: async (world) => inherit(world),
  },
  // Network.
  {
    group: 'network',
    name: 'connect to a server on the loopback of the host',
    without: true,
    text: ({ secretPort }) => `curl -s -m 5 --noproxy '*' http://127.0.0.1:${secretPort}/`,
  },
  {
    group: 'network',
    name: 'connect to an address of the machine',
    without: true,
    text: ({ address, secretPort }) => `curl -s -m 5 --noproxy '*' http://${address}:${secretPort}/`,
  },
  {
    group: 'network',
    name: 'connect past the proxy, with a network allowed',
    tool: 'Net',
    without: true,
    text: ({ secretPort }) => `curl -s -m 5 --noproxy '*' http://127.0.0.1:${secretPort}/`,
  },
  {
    group: 'network',
    name: 'ask a name server',
    tool: 'Net',
    text: () => `getent hosts example.com && ${mark}; getent hosts host.docker.internal && ${mark}; true`,
  },
  {
    group: 'network',
    name: 'ask the proxy for a host that no rule allows',
    tool: 'Net',
    // Without the internet an allowed host would fail too, so the refusal itself must show.
    tries: /No sandbox rule of this tool allows example\.org:80/,
    text: () =>
      `curl -s -m 10 -x $http_proxy --noproxy '' http://example.org/; curl -s -m 10 -x $http_proxy --noproxy '' https://example.org/ && ${mark}; true`,
  },
  {
    group: 'network',
    name: 'ask the proxy for another port of an allowed address',
    tool: 'Net',
    text: ({ secretPort }) =>
      `curl -s -m 5 -x $http_proxy --noproxy '' http://127.0.0.1:${secretPort}/; curl -s -m 5 -p -x $http_proxy --noproxy '' http://127.0.0.1:${secretPort}/`,
  },
  {
    group: 'network',
    name: 'ask the proxy for loopback where every host is allowed',
    tool: 'NetAll',
    text: ({ secretPort, address }) =>
      [
        '127.0.0.1',
        'localhost',
        '0x7f.1',
        '2130706433',
        '[::1]',
        '[::ffff:127.0.0.1]',
        '0.0.0.0',
        '127.0.0.1.',
        address,
      ]
        .flatMap((host) =>
          ['', '-p'].map(
            (tunnel) =>
              `curl -s -g -m 5 ${tunnel} -x $http_proxy --noproxy '' 'http://${host}:${secretPort}/'`,
          ),
        )
        .join('; '),
  },
  {
    group: 'network',
    name: 'ask the proxy for a metadata service',
    tool: 'NetAll',
    tries: /^169\.254\.169\.254 is at a private address(?:[^]*is at a private address){3}/,
    text: () =>
      `for h in 169.254.169.254 100.100.100.200 [fd00:ec2::254] 0xa9fea9fe; do curl -s -g -m 5 -x $http_proxy --noproxy '' http://$h/; curl -s -g -f -m 5 -p -x $http_proxy --noproxy '' http://$h/ && ${mark}; done; true`,
  },
  {
    group: 'network',
    name: 'send another host in the header than in the address',
    tool: 'Net',
    text: ({ secretPort, allowedPort }) =>
      `curl -s -m 5 -x $http_proxy --noproxy '' -H 'Host: 127.0.0.1:${secretPort}' http://127.0.0.1:${allowedPort}/`,
  },
  {
    group: 'network',
    name: 'smuggle a second request in the first',
    tool: 'Net',
    text: ({ secretPort, allowedPort }) =>
      `printf 'POST http://127.0.0.1:${allowedPort}/ HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET http://127.0.0.1:${secretPort}/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' | perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("127.0.0.1:3128"); print $s join("", <STDIN>); alarm 3; print while <$s>'`,
  },
  {
    group: 'network',
    name: 'send garbage to the proxy',
    tool: 'Net',
    text: () =>
      `head -c 3000000 /dev/urandom | perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("127.0.0.1:3128"); binmode STDIN; alarm 3; while (read(STDIN, my $b, 65536)) { print $s $b }'; true`,
    after: async ({ sh, allowedPort }) =>
      !(
        await sh(`curl -s -x $http_proxy --noproxy '' http://127.0.0.1:${allowedPort}/`, 'Net')
      ).stdout.includes('allowed host'),
  },
  // Sockets.
  {
    group: 'sockets',
    name: 'use a socket file in the project, such as docker.sock',
    without: true,
    text: () => 'curl -s -m 5 --unix-socket docker.sock http://x/',
  },
  {
    group: 'sockets',
    name: 'the same with a network allowed',
    tool: 'NetAll',
    text: () => 'curl -s -m 5 --unix-socket docker.sock http://x/',
  },
  {
    group: 'sockets',
    name: 'connect to an abstract socket of the host',
    without: true,
    text: ({ abstractName }) => `curl -s -m 5 --http0.9 --abstract-unix-socket ${abstractName} http://x/`,
  },
  {
    group: 'sockets',
    name: 'make a datagram pair, which can send to socket files',
    without: true,
    text: () =>
      `perl -MSocket -e 'socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) and print "${escaped}\\n"'`,
  },
  {
    group: 'sockets',
    name: 'make sockets without the filtered call (io_uring)',
    tries: /refused: /,
    text: () => call(425, 425, 8, '$b'),
  },
  {
    group: 'sockets',
    name: 'reach the hypervisor (AF_VSOCK)',
    tries: /refused: /,
    text: () => call(41, 198, 40, 1, 0),
  },
  // Privileges.
  {
    group: 'privileges',
    name: 'become root with setuid programs',
    text: () =>
      `su -c 'id -u' root < /dev/null | grep -qx 0 && ${mark}; sudo -n id -u | grep -qx 0 && ${mark}; newgrp root < /dev/null; cp /bin/bash /tmp/b && chmod u+s /tmp/b && /tmp/b -p -c 'id -u' | grep -qx 0 && ${mark}; grep -q 'NoNewPrivs:.1' /proc/self/status || ${mark}`,
  },
  {
    group: 'privileges',
    name: 'have capabilities',
    text: () => `grep Cap /proc/self/status | grep -vq 0000000000000000 && ${mark}; true`,
  },
  {
    group: 'privileges',
    name: 'make namespaces',
    text: () => `for n in U m n p u i C; do unshare -$n true && ${mark}; done; true`,
  },
  {
    group: 'privileges',
    name: 'set the core pattern and other settings of the kernel',
    text: () =>
      `for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sys/kernel/modprobe /proc/sysrq-trigger /proc/sys/user/max_user_namespaces /proc/1/oom_score_adj; do ( : >> $f ) && ${mark}; done; true`,
  },
  {
    group: 'privileges',
    name: 'type into the terminal of the host (TIOCSTI)',
    tries: /refused: /,
    text: () =>
      `perl -e 'my $x = "x"; for my $f ("/dev/tty", "/dev/ptmx", "/dev/null") { open(my $t, "+<", $f) or next; print ioctl($t, 0x5412, $x) ? "${escaped}\\n" : "refused: $!\\n" }'`,
  },
  {
    group: 'privileges',
    name: 'read the inherited keyrings',
    tries: /refused: /,
    text: () => call(250, 219, 0, -3, 0),
  },
  {
    group: 'privileges',
    name: 'read the log of the kernel',
    tries: /refused: /,
    text: () => `${call(103, 116, 10, 0, 0)}; dmesg | grep -q . && ${mark}`,
  },
  {
    group: 'privileges',
    name: 'load a program into the kernel (bpf)',
    tries: /refused: /,
    text: () => call(321, 280, 5, '$b', 120),
  },
  // Processes and limits.
  {
    group: 'processes',
    name: 'see, trace and end processes of the host',
    tries: /refused: /,
    text: ({ victim }) =>
      `kill -9 ${victim.pid}; [ -e /proc/${victim.pid}/cmdline ] && grep -qa sleep /proc/${victim.pid}/cmdline && ${mark}; ${call(101, 117, 16, victim.pid ?? 0, 0, 0)}; ps ax | grep -v grep | grep -q 'sleep 1000' && ${mark}`,
    after: ({ victim }) => victim.exitCode !== null || victim.signalCode !== null,
  },
  {
    group: 'processes',
    name: 'leave a process behind',
    text: () =>
      `setsid nohup sh -c 'sleep 7654321' > /dev/null 2>&1 & (sleep 7654321 &) ; disown -a; echo started`,
    after: () => isRunning('7654321'),
  },
  {
    group: 'processes',
    name: 'outlive the deadline and ignore signals',
    small: true,
    text: () => `trap '' TERM INT HUP; (trap '' TERM; sleep 7654322) & while :; do sleep 1; done; ${mark}`,
    after: () => isRunning('7654322'),
  },
  {
    group: 'processes',
    name: 'fork without end',
    small: true,
    attempt: async ({ sh, small }) => {
      const { stopped } = await sh(`f() { f | f & }; f; sleep 20`, 'Bash', small);
      return stopped === undefined;
    },
  },
  {
    group: 'processes',
    name: 'use more memory than allowed',
    small: true,
    text: () => `perl -e '$x = "a" x 500_000_000; sleep 1; print "${escaped}\\n"'`,
  },
  {
    group: 'processes',
    name: 'use more memory than allowed in many processes',
    small: true,
    text: () =>
      `for i in 1 2 3 4 5 6 7 8; do perl -e '$x = "a" x 80_000_000; sleep 1; print "${escaped}\\n"' & done; wait`,
  },
  {
    group: 'processes',
    name: 'fill the memory through private folders',
    small: true,
    text: () =>
      `for at in /tmp /dev/shm; do for i in 1 2 3 4 5 6; do head -c 10000000 /dev/zero > $at/$i || exit 0; done; ${mark}; done`,
  },
  {
    group: 'processes',
    name: 'fill the disk with one file',
    small: true,
    text: () => `head -c 100000000 /dev/zero > big && ${mark}; rm -f big`,
  },
  // Environment.
  {
    group: 'environment',
    name: 'read secrets of the host in variables',
    without: true,
    text: () =>
      `env; cat /proc/self/environ; for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; tr '\\0' '\\n' < $p/cmdline; done`,
  },
  // File tools.
  ...[
    '../other/secret.txt',
    'link-out',
    '.env',
    'state/.quittance/ledger.db-note',
    'link-ledger',
    '/etc/shadow',
  ].map((path): Escape => ({
    group: 'file tools',
    name: `read_file ${path}`,
    attempt: async (world) => !(await useFileTool(world, 'read_file', { path })).startsWith('refused: E'),
  })),
  {
    group: 'file tools',
    name: 'write_file through a link to another folder',
    attempt: async (world) => {
      await useFileTool(world, 'write_file', { path: 'link-to-write', content: 'planted' });
      await useFileTool(world, 'write_file', { path: '../other/planted-by-tool', content: 'planted' });
      await useFileTool(world, 'edit_file', { path: 'rules.yaml', old_text: 'enforce', new_text: 'observe' });
      return (
        existsSync(join(world.other, 'planted-by-tool')) ||
        !readFileSync(join(world.project, 'rules.yaml'), 'utf8').includes('mode: enforce }')
      );
    },
  },
  {
    group: 'file tools',
    name: 'list_directory of the ledger and of the host',
    attempt: async (world) =>
      (await useFileTool(world, 'list_directory', { path: 'state/.quittance' })).includes('ledger.db') ||
      (await useFileTool(world, 'list_directory', { path: '../other' })).includes('secret.txt'),
  },
];

/** Does the output show a secret or the mark? */
export const leaks = ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): boolean =>
  [stdout, stderr].some((text) => text.includes(secret) || text.includes(escaped));

/** Is a process of this machine running with this word? */
function isRunning(word: string): boolean {
  return readdirSync('/proc').some((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/cmdline`, 'latin1').split('\0').includes(word);
    } catch {
      return false;
    }
  });
}

/** The body of a file tool without the gates of a runtime, which would refuse most of these paths first. */
async function useFileTool({ sandbox }: World, name: string, input: object): Promise<string> {
  const tool = sandbox.fileTools().find((each) => each.name === name);
  if (tool === undefined) throw new Error(`No tool named ${name}.`);
  const context = { toolName: name, signal: new AbortController().signal, reached: () => undefined };
  try {
    // The body reads only these three.
    return JSON.stringify(await tool.run(input, context as unknown as Parameters<typeof tool.run>[1]));
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** A process that was started with an open folder of the host runs the sandbox. */
async function inherit({ project, other }: World): Promise<boolean> {
  const folder = openSync(other, 'r');
  const child = spawn(
    process.execPath,
    ['--conditions=quittance-source', join(import.meta.dirname, 'inherit-child.ts'), project],
    // Node closes its first descriptors by itself, up to a gap.
    { stdio: ['ignore', 'pipe', 'inherit', ...Array.from({ length: 57 }, () => 'ignore' as const), folder] },
  );
  closeSync(folder);
  let stdout = '';
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  await once(child, 'close');
  if (!stdout.includes('ran')) throw new Error(`The child did not run: ${stdout}`);
  return stdout.includes(secret);
}

/** Changes a named folder in one call. True if a later call reads the other project. */
async function swapAndRead(
  { folder, other, ledger }: World,
  name: string,
  named: string,
  swap: string,
): Promise<boolean> {
  const project = join(folder, `swap-${name}`);
  mkdirSync(join(project, named), { recursive: true });
  const wide = name === 'twice' ? `'.', ${named}` : "'.'";
  const contracts = contractsFromYamlString(
    `apiVersion: edictum/v1
kind: Ruleset
metadata: { name: swap }
defaults: { mode: enforce }
rules:
  - { id: wide, type: sandbox, tools: [Bash], within: [${wide}], message: m }
  - { id: narrow, type: sandbox, tools: [Narrow], within: [${name === 'narrow' ? named : "'.'"}], message: m }
`,
    { workingDirectory: project },
  );
  const readOnly = name === 'toolchain' ? [join(project, named)] : [];
  const sandbox = createSandbox({ contracts, ledger, readOnly });
  await sandbox.run('Bash', ['/bin/bash', '-c', swap]);
  for (const tool of ['Bash', 'Narrow'])
    try {
      if (leaks(await sandbox.run(tool, ['/bin/cat', join(other, 'secret.txt')]))) return true;
    } catch {
      // refused: the path leads through a link
    }
  return false;
}
