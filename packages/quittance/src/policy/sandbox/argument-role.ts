/**
 * The role of an argument by its name, for tools that do not declare their resources. This is a guess: if the name
 * says nothing, the form of the value decides. The tool's `resources` replace all of this.
 */
import { isCommandName, toPlainLetters } from '../../tool/runs-commands.ts';

export type ArgumentRole =
  /** A path that other relative paths start from. */
  | 'directory'
  | 'path'
  | 'command'
  /** Words of a command whose program is in another argument. */
  | 'words'
  | 'url'
  /** Text for people or for a file. It names a resource only if it is exactly one absolute path or URL. */
  | 'prose'
  /** A patch: only the files that it names count. */
  | 'patch'
  /** Text of a file that is searched for or written. It names nothing. */
  | 'data'
  | 'other';

const roles: readonly (readonly [ArgumentRole, string])[] = [
  [
    'directory',
    'cwd workdir workingdir workingdirectory currentdirectory currentdir chdir basedir basedirectory',
  ],
  ['directory', 'rootdir rootdirectory root dir directory folder workspace'],
  ['path', 'path paths file files filename filenames filepath filepaths dirs directories folders'],
  ['path', 'source sources destination destinations src dest dst glob globs include'],
  ['command', 'command commands cmd cmds commandline script scripts shell bash run exec'],
  ['command', 'program executable exe binary interpreter'],
  ['path', 'includes mask filepattern filepatterns filemask namepattern filenamepattern'],
  ['patch', 'patch diff'],
  ['data', 'oldstring newstring oldstr newstr oldtext newtext'],
  ['words', 'args argv arguments flags'],
  [
    'url',
    'url urls uri uris href endpoint host hosts hostname hostnames domain domains server proxy website webhook ' +
      'ip ips ipaddress ipaddresses ipaddr ipv4 ipv6 nameserver',
  ],
  [
    'prose',
    'content contents text texts body message messages description title subject comment comments summary note notes ' +
      'reason explanation thought filetext inserttext prompt ' +
      'markdown html',
  ],
];

const roleByWord: ReadonlyMap<string, ArgumentRole> = new Map(
  roles.flatMap(([role, words]) => words.split(' ').map((word) => [word, role] as const)),
);

/** `filePath`, `file_path`, `File-Path` are one name; the last of several words decide: `source_path`, `apiUrl`. */
export function argumentRoleOf(name: string): ArgumentRole {
  if (name.length > 80) return 'other';
  const words = toPlainLetters(name)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  return (
    roleByWord.get(words.join('')) ??
    roleByWord.get(words.slice(-2).join('')) ??
    proseOnlyWhole(roleByWord.get(last)) ??
    (isCommandName(name) ? 'command' : 'other')
  );
}

/** `text` is prose, but `alt_text` may be anything: only a whole name exempts an argument. */
const proseOnlyWhole = (role: ArgumentRole | undefined): ArgumentRole | undefined =>
  role === 'prose' ? undefined : role;
