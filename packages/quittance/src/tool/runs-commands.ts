/**
 * Does a tool run commands or code that its caller chooses? The one definition: for the reading of undeclared arguments
 * and for the check that such a tool cannot reach the ledger's files.
 *
 * A tool does if its mode is `local` or it declares a command argument. It also does if its schema has an argument for a
 * command or code, or its name has a shell word. A name that cannot be read plainly (mixed scripts, look-alike letters, no letters)
 * counts too.
 */
import { isJsonObject, type JsonValue } from '../base/json.ts';
import type { AnyTool } from './define-tool.ts';
import { splitNameWords, withoutServer } from './name-words.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** Shell words anywhere in a tool's name. */
const shells = words(
  'bash sh zsh ksh csh tcsh shell powershell pwsh cmd cmdlet subprocess tty pty popen xterm iterm localshell runbash sudo ' +
    'osascript applescript',
);
/** The same, but not after `get`, `list`, `read`, `search`: `search_python_docs`. */
const runners = words('exec spawn repl ssh tmux terminal python ipython');
/** Names that say it alone or with words that name no purpose: `console`, `run_command`, `execute`. */
const shellNouns = words('command commands commandline cmdline console terminal interpreter eval cli');
const runVerbs = words('run execute exec start invoke launch local runner executor execution');
const companions: ReadonlySet<string> = new Set([
  ...words('a the in on it this to my any do use tool once line raw open send new start'),
  ...words(
    'run exec execute local host machine computer system remote vm container docker background sandbox',
  ),
  ...words('linux unix windows mac macos js javascript code script'),
]);
/** Next to a verb, or alone: `start_process`, `code_execution`, `run_project_script`. */
const runObjects = words(
  'command commands script scripts process code program node deno bun javascript js perl ruby php cell snippet executable',
);
/** Whole names. */
const programs = words(
  'run runner exec executor execute code script program nodejs fish dash git kubectl docker npm npx node deno bun perl ruby php lua awk sed make',
);

/** Words in the name of an argument. */
const commandWords = words(
  'command commands cmd cmds commandline cmdline shell bash sh zsh powershell pwsh argv executable exe interpreter',
);
const wholeArguments = words('run exec eval args arguments python javascript js entrypoint stdin');
const languages = words(
  'python javascript js typescript node perl ruby php lua source shell terminal console',
);
/** The argument is about a command: `command_id`. */
const aboutCommand = words(
  'id ids status count number date time at by version history hash digest timeout type description title label url limit ms',
);
/** Words of tools whose `code`, `program` or `script` is an ordinary one: a coupon, a course, a film. */
const ordinaryTopics = words(
  'coupon voucher promo promotion discount gift card country currency zip postal postcode area region state error ' +
    'product sku item stock order reason verification verify otp mfa pin phone login sms authenticate tracking track ' +
    'parcel booking reservation flight airline airport station referral invite invitation tax customs tariff icd cpt ' +
    'diagnosis medical bank iban swift payment invoice account customer member membership loyalty rewards benefit ' +
    'redeem apply activate activation validate barcode qr department cost language locale timezone color class course ' +
    'study degree student university training fitness tv event ticket access door employee enroll enrol video podcast ' +
    'film movie sales call scene subject get list search find lookup',
);

/** Why a tool counts, for a message. Undefined if it does not. */
export function whyRunsCommands(tool: AnyTool): string | undefined {
  if (tool.mode === 'local' || (tool.undo !== undefined && tool.undoMode === 'local'))
    return 'its mode is local';
  if ((tool.resources?.commands?.length ?? 0) > 0) return 'it declares a command argument';
  const name = readShellName(tool.name);
  if (name === 'unclear') return 'its name has letters of several scripts or look-alike letters';
  if (name === 'shell') return 'its name says so';
  const found = findCommandArgument(tool.input.jsonSchema, tool.name);
  return found === undefined ? undefined : `it has the argument ${JSON.stringify(found)}`;
}

/** Reads a tool's name. `shell`: it has a shell word. `unclear`: nothing can be said about it. */
export function readShellName(name: string): 'shell' | 'unclear' | 'other' {
  const plain = toPlainLetters(name);
  const all = splitNameWords(plain);
  if (all.length === 0 || all.some(isUnclear) || enclosedLetters.test(plain)) return 'unclear';
  const own = splitNameWords(withoutServer(plain).replace(/^.*?__(?=[^_])/s, ''));
  // `b4sh`, `c0mmand`: digits may stand for letters.
  return [all, own, all.map(withoutDigits), own.map(withoutDigits)].some(areShellWords) ? 'shell' : 'other';
}

function areShellWords(all: readonly string[]): boolean {
  const [first = ''] = all;
  const joined = all.join('');
  return (
    all.some((word) => shells.has(word) || gluedCommand.test(word)) ||
    (!/^(?:get|list|read|search)$/.test(first) && all.some((word) => runners.has(word))) ||
    // `b_a_s_h`, `com_mand`
    shells.has(joined) ||
    runners.has(joined) ||
    programs.has(joined) ||
    all.every((word) => programs.has(word)) ||
    shellNouns.has(joined) ||
    gluedCommand.test(joined) ||
    (all.every((word) => shellNouns.has(word) || companions.has(word)) &&
      all.some((word) => shellNouns.has(word))) ||
    (/^(?:run|exec|execute)$/.test(first) &&
      all.every((word) => companions.has(word) && !/^(?:new|start|open|send)$/.test(word))) ||
    all.some(
      (word, index) =>
        runObjects.has(word) &&
        (runVerbs.has(all[index - 1] ?? '') ||
          /^(?:runner|executor|execution)$/.test(all[index + 1] ?? '')) &&
        (index === all.length - 1 ||
          all.slice(index + 1).every((next) => runVerbs.has(next) || companions.has(next))),
    ) ||
    (runVerbs.has(first) && /^(?:commands?|scripts?|code|notebook|cell)$/.test(all.at(-1) ?? ''))
  );
}

/** Several words in one: `runcommand`, `shellexec`. */
const gluedCommand =
  /^(?=.*(?:bash|zsh|shell|cmd|command|terminal|console|script|python))(?:run|exec|execute|start|invoke|local|my|do|in|the|bash|sh|zsh|shell|cmd|commands?|line|terminal|console|script|code|python|tool|runner|executor|java){2,}$/;

/** Does an argument with this name hold a command? A name that cannot be read counts. */
export function isCommandName(name: string): boolean {
  const all = splitNameWords(toPlainLetters(name));
  if (all.some(isUnclear)) return true;
  const last = all.at(-1) ?? '';
  if (all.length > 1 && aboutCommand.has(last)) return false;
  const before = all.slice(0, -1);
  return (
    [...all, all.join('')].some((word) => commandWords.has(withoutDigits(word)) || gluedCommand.test(word)) ||
    wholeArguments.has(all.join('')) ||
    // `steps.run`, `file_to_execute`
    (name.includes('.') && wholeArguments.has(last)) ||
    (before.length > 0 && /^exec(?:ute)?$/.test(last)) ||
    (/^(?:code|scripts?|source|snippet|input|line)$/.test(last) && before.some((word) => languages.has(word)))
  );
}

/**
 * The first argument, at any depth, that takes a command or code. One with a closed list of values takes none. `code`,
 * `program` and `script` also have ordinary meanings, which the tool's name tells.
 */
function findCommandArgument(schema: JsonValue | undefined, toolName: string): string | undefined {
  const isOrdinary = splitNameWords(toolName).some((word) => ordinaryTopics.has(word));
  const takesCommand = (key: string, value: JsonValue | undefined): boolean =>
    !isClosed(value, schema) && (isCommandName(key) || (!isOrdinary && isAmbiguous(key, value)));
  const rest: JsonValue[] = schema === undefined ? [] : [schema];
  for (let at = rest.pop(); at !== undefined; at = rest.pop()) {
    if (Array.isArray(at)) rest.push(...(at as readonly JsonValue[]));
    if (!isJsonObject(at)) continue;
    // Arguments that are only named, not described.
    const { required, propertyNames, properties, dependentRequired } = at;
    const dependent = isJsonObject(dependentRequired) ? Object.keys(dependentRequired) : [];
    const allowed = isJsonObject(propertyNames) ? [propertyNames['enum'], propertyNames['const']] : [];
    const named = [required, ...allowed, dependent]
      .flat()
      .find(
        (key) =>
          typeof key === 'string' &&
          !(isJsonObject(properties) && Object.hasOwn(properties, key)) &&
          takesCommand(key, undefined),
      );
    if (typeof named === 'string') return named;
    for (const [keyword, value] of Object.entries(at)) {
      if (/^(?:enum|const|default|examples)$/.test(keyword)) continue;
      if (/^(?:properties|patternProperties|dependentSchemas)$/.test(keyword) && isJsonObject(value)) {
        const found = Object.keys(value).find((key) => takesCommand(key, value[key]));
        if (found !== undefined) return found;
      }
      rest.push(value);
    }
  }
  return undefined;
}

/** `code`, and the schema does not say that it is short or has a form. */
const isAmbiguous = (name: string, schema: JsonValue | undefined): boolean =>
  /^(?:code|program|scripts?)$/.test(splitNameWords(toPlainLetters(name)).at(-1) ?? '') &&
  (splitNameWords(name).length === 1 || /scripts?$/i.test(name)) &&
  !(
    isJsonObject(schema) &&
    ('pattern' in schema || 'format' in schema || Number(schema['maxLength'] ?? Infinity) <= 64)
  );

/** Can the caller only choose among values of the author? A choice of shells says that the command is elsewhere. */
function isClosed(schema: JsonValue | undefined, root: JsonValue | undefined, depth = 0): boolean {
  if (schema === false) return true;
  if (!isJsonObject(schema) || depth > 8) return false;
  const { enum: values, type, items, anyOf, oneOf, $ref: reference } = schema;
  if (Array.isArray(values))
    return !values.some((value: JsonValue) => typeof value === 'string' && shells.has(value.toLowerCase()));
  if ('const' in schema) return true;
  const types = [type].flat().filter((each) => each !== undefined);
  if (
    types.length > 0 &&
    types.every((each) => typeof each === 'string' && /^(?:boolean|number|integer|null)$/.test(each))
  )
    return true;
  const branches = Array.isArray(anyOf) ? anyOf : oneOf;
  if (Array.isArray(branches)) return branches.every((each: JsonValue) => isClosed(each, root, depth + 1));
  if (typeof reference === 'string') return isClosed(resolve(root, reference), root, depth + 1);
  return types.includes('array') && isClosed(items, root, depth + 1);
}

function resolve(root: JsonValue | undefined, reference: string): JsonValue | undefined {
  let at = root;
  for (const key of reference.split('/').slice(1)) at = isJsonObject(at) ? at[key] : undefined;
  return at;
}

/** Without accents, invisible letters and other forms of the same letters. Capitals stay: they separate words. */
export const toPlainLetters = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll('ı', 'i')
    .normalize('NFKC');

/** Letters in circles and squares, which no normalization reads. */
const enclosedLetters = /[\u{1F100}-\u{1F1FF}]/u;

/** The letters of one word. Words of nothing but look-alikes of Latin letters are not Cyrillic or Greek words. */
const oneScript =
  /^(?:[a-zæœøđłßðþ]+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+|(?![асеорхуіјѕһԁԛԝӏѵ]+$)\p{Script=Cyrillic}+|(?![οανρτυχικεη]+$)\p{Script=Greek}+|\p{Script=Arabic}+|\p{Script=Hebrew}+|\p{Script=Devanagari}+|\p{Script=Bengali}+|\p{Script=Tamil}+|\p{Script=Telugu}+|\p{Script=Thai}+|\p{Script=Georgian}+|\p{Script=Armenian}+)$/u;

const isUnclear = (word: string): boolean => {
  const letters = word.replace(/\p{N}/gu, '');
  return letters !== '' && !oneScript.test(letters);
};

const withoutDigits = (word: string): string =>
  word.replace(/[013457]/g, (digit) => ({ 0: 'o', 1: 'l', 3: 'e', 4: 'a', 5: 's', 7: 't' })[digit] ?? digit);
