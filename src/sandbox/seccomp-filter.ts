/**
 * The system calls that a sandboxed command may not make, as a program for the kernel's filter. Namespaces and missing
 * capabilities stop most escapes. The filter stops those that need neither:
 *
 * - Unix sockets of the host. A socket file in a writable folder, such as `docker.sock`, leads out of every namespace.
 *   Pairs of connected stream sockets stay allowed, because programs talk to their children through them. Pairs of
 *   datagram sockets are not: such a socket can still send to any address.
 * - Sockets of other families. `AF_VSOCK` reaches the hypervisor, because it has no namespace.
 * - `io_uring`, which makes sockets without the system call that is filtered.
 * - Keyrings, which a process inherits. The kernel's log. Input for the terminal of the host.
 * - Interfaces of the kernel that commands do not need and attackers like: bpf, perf, userfaultfd.
 */
import { QuittanceError } from '../base/error.ts';

type Numbers = { readonly x64: number; readonly arm64: number };

const socket: Numbers = { x64: 41, arm64: 198 };
const socketpair: Numbers = { x64: 53, arm64: 199 };
const ioctl: Numbers = { x64: 16, arm64: 29 };

const refused: Readonly<Record<string, Numbers>> = {
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  userfaultfd: { x64: 323, arm64: 282 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  syslog: { x64: 103, arm64: 116 },
};

/** IPv4, IPv6, and the messages by which libraries list interfaces. All three belong to the network namespace. */
const allowedFamilies = [2, 10, 16];
const unixFamily = 1;
const streamType = 1;
/** The type of a socket without its flags. */
const typeMask = 0xf;
const terminalInput = [0x5412, 0x541c]; // TIOCSTI, TIOCLINUX

const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;

// Offsets in the kernel's seccomp_data, for little-endian machines: the lower half of an argument comes first.
const numberAt = 0;
const architectureAt = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

const allow = 0x7fff0000;
const kill = 0x80000000;
const refuse = 0x00050001; // EPERM

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const answer = (value: number): Instruction => [0x06, 0, 0, value];
const and = (value: number): Instruction => [0x54, 0, 0, value];
/** Continues with the next instruction if equal, and skips `otherwise` instructions if not. */
const equals = (value: number, otherwise: number): Instruction => [0x15, 0, otherwise, value];
const atLeast = (value: number, otherwise: number): Instruction => [0x35, 0, otherwise, value];

/** The filter as bubblewrap reads it from `--seccomp`. Throws for a processor without a table here. */
export function createSeccompFilter(architecture: string): Buffer {
  if (architecture !== 'x64' && architecture !== 'arm64')
    throw new QuittanceError(
      'config.invalid',
      `The sandboxed executor runs on x64 and arm64. This machine is ${architecture}. Use a container or a virtual machine there.`,
    );
  const of = (numbers: Numbers): number => numbers[architecture];
  /** Runs the block for this system call only. The block must end with an answer. */
  const on = (number: number, block: readonly Instruction[]): readonly Instruction[] => [
    equals(number, block.length),
    ...block,
  ];
  const program: readonly Instruction[] = [
    load(architectureAt),
    // A 32-bit program has other numbers.
    equals(architectures[architecture], 1),
    [0x05, 0, 0, 1], // jump over the answer
    answer(kill),
    load(numberAt),
    // Numbers of the x32 interface.
    atLeast(0x40000000, 1),
    answer(refuse),
    ...Object.values(refused).flatMap((numbers) => on(of(numbers), [answer(refuse)])),
    ...on(of(socket), [
      load(argumentAt(0)),
      ...allowedFamilies.flatMap((family) => [equals(family, 1), answer(allow)]),
      answer(refuse),
    ]),
    ...on(of(socketpair), [
      load(argumentAt(0)),
      equals(unixFamily, 4),
      load(argumentAt(1)),
      and(typeMask),
      equals(streamType, 1),
      answer(allow),
      answer(refuse),
    ]),
    ...on(of(ioctl), [
      load(argumentAt(1)),
      ...terminalInput.flatMap((request) => [equals(request, 1), answer(refuse)]),
      answer(allow),
    ]),
    answer(allow),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;
}
