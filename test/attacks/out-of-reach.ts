/**
 * Attempts that succeed, and why nothing at this boundary can stop them. Listed so that they are known, and
 * stay true.
 */
import { project, type Attack } from './attack.ts';

export const outOfReach: readonly Attack[] = [
  {
    id: 'beyond-homoglyph-tool',
    tries: 'a tool whose name only looks like the one a rule is about',
    document: 'names',
    tool: '\u0392ash',
    input: { command: 'rm x' },
    outOfReach:
      'Names are compared as given. The runtime runs no tool it does not know; where tools come from elsewhere, close the list with a rule for `*`.',
  },
  {
    id: 'beyond-own-options',
    tries: 'a program that an entry allows with any words, and that runs another by one of them',
    document: 'unknown',
    tool: 'Bash',
    input: { command: 'mystery --with rm' },
    outOfReach:
      'An entry with `*` vouches for every use of its program. List the exact words, or use the sandboxed executor.',
  },
  {
    id: 'beyond-recursion',
    tries: 'a directory that is allowed, read through to what is taken away',
    document: 'shell',
    tool: 'Bash',
    input: { command: `grep -r key ${project}`, working_directory: project },
    outOfReach:
      'The call names the directory, which is allowed. Keep what must not be read outside of `within`, or list no command that recurses.',
  },
  {
    id: 'beyond-resolver',
    tries: 'a name that resolves to an address that is not allowed',
    document: 'internet',
    tool: 'Fetch',
    input: { url: 'https://localtest.me/' },
    outOfReach:
      'Names are judged, not what they resolve to at the time of the request. Allow hosts by name instead of `*`.',
  },
  {
    id: 'beyond-redirect',
    tries: 'a listed host that sends on to another',
    document: 'network',
    tool: 'Fetch',
    input: { url: 'https://api.example.com/redirect?to=https://evil.com/' },
    outOfReach: 'Only the tool sees where it is sent. It should follow redirects by asking again.',
  },
  {
    id: 'beyond-encoding',
    tries: 'a path in an encoding only the tool knows',
    document: 'files',
    tool: 'Write',
    input: { file_path: `${project}/a`, payload: 'L2V0Yy9wYXNzd2Q=' },
    outOfReach: 'Base64 and the like are only data to other programs. A tool should take paths as paths.',
  },
  {
    id: 'beyond-prose',
    tries: 'a path in a sentence that is meant for people',
    document: 'files',
    tool: 'Write',
    input: { file_path: `${project}/a`, content: 'cat /etc/passwd' },
    outOfReach:
      'Contents of files and messages may speak of anything. A tool that takes orders in such an argument should declare it in `resources`.',
  },
  {
    id: 'beyond-declared',
    tries: 'a path in an argument the tool did not declare',
    document: 'files',
    tool: 'Write',
    input: { target: `${project}/a`, file_path: '/etc/passwd' },
    resources: { paths: ['target'] },
    outOfReach: 'A tool that declares its resources is taken at its word.',
  },
  {
    id: 'beyond-time',
    tries: 'a directory that becomes a link after it was judged',
    document: 'files',
    tool: 'Write',
    input: { file_path: `${project}/a/b` },
    outOfReach:
      'Between judging and running, other processes go on. A tool that must be sure opens without following links.',
  },
  {
    id: 'beyond-script',
    tries: 'a command that its entry names word by word, and that runs a file',
    document: 'shell',
    tool: 'Bash',
    input: { command: 'bash build.sh', working_directory: project },
    outOfReach:
      'The entry allows this command. What the file does is not part of the call. The sandboxed executor confines it.',
  },
  {
    id: 'beyond-bare-name',
    tries: 'a host without a dot for a program that an entry allows with any words',
    document: 'unknown',
    tool: 'Bash',
    input: { command: 'mystery intranet' },
    outOfReach:
      'A word without a dot may be anything. Where hosts matter, give the tool a url argument, or use the sandboxed executor.',
  },
];
