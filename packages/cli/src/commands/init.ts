import { existsSync, readFileSync, rmdirSync, rmSync, writeFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import type { Choice, ProjectChoices } from '../init/project-choices.ts';
import { developmentPackages, frameworkChoices, ruleChoices, storeChoices } from '../init/project-choices.ts';
import { terminalText } from '../terminal-text.ts';
import { describeUnknownName } from 'quittance/internal/base/nearest';
import { UsageError } from '../usage-error.ts';
import { makeFolder } from '../make-folder.ts';
import { templatesFolder } from 'quittance/internal/runtime/own-files';

export const initCommand: CliCommand = {
  name: 'init',
  summary: 'Create a project that runs: an agent with a tool, rules, a ledger and a test',
  takes: '[folder]',
  most: 1,
  about: [
    'Asks for the framework of your agent, the store of the ledger and the kind of rules. Options answer a question in advance; without a terminal, give all three or --yes.',
    "Writes quittance.ts (the tool and its rules), contracts.yaml, agent.ts, agent.test.ts, main.ts and ledger.ts. model.ts is a scripted model, so the project runs without an API key. The workspace folder is for the agent's files. Adds package.json, tsconfig.json and .gitignore if they are missing. Existing files are never changed. Nothing is written if you stop at a question.",
  ],
  options: {
    framework: { value: 'NAME', help: 'Framework of the agent', choices: Object.keys(frameworkChoices) },
    store: { value: 'NAME', help: 'Store of the ledger', choices: Object.keys(storeChoices) },
    rules: { value: 'NAME', help: 'What rules do with a large refund', choices: Object.keys(ruleChoices) },
    yes: { help: 'Accept the default for every question that no option answers' },
  },
  examples: [
    ['quittance init', 'in this folder'],
    ['quittance init my-agent --framework ai-sdk', 'in a new folder, for the AI SDK'],
    ['quittance init my-agent --yes', 'without questions'],
  ],
  effect: makes,
  async run(given, context) {
    const { out, err, version, signal } = context;
    const [typed = '.'] = given.args;
    const folder = resolve(typed);
    const choices = await readChoices(given, context);
    if (choices === undefined || signal.aborted) {
      await err.print('Nothing was written.');
      return exitCodes.bad;
    }
    const hasManifest = existsSync(join(folder, 'package.json'));
    const ignored = readText(join(folder, '.gitignore'));
    const written = writeProject(
      folder,
      projectFiles(projectName(basename(folder)), ownPackages(folder, choices, version), choices),
    );
    for (const file of [...written, 'workspace/']) await out.print(`wrote ${terminalText(file)}`);
    await out.print('');
    if (typed !== '.') await out.print(`cd ${shellWord(terminalText(typed))}`);
    if (ignored !== undefined && !/^\/?\.quittance\/?$/m.test(ignored))
      await out.print("echo '.quittance/' >> .gitignore");
    for (const line of nextCommands(folder, choices, hasManifest, version)) await out.print(line);
    return exitCodes.good;
  },
};

async function readChoices(given: Given, context: Context): Promise<ProjectChoices | undefined> {
  /** The parser has checked the value of an option. */
  const read = async <Name extends string>(
    option: string,
    title: string,
    choices: Readonly<Record<Name, Choice>>,
  ): Promise<Name | undefined> => {
    const names = Object.keys(choices) as Name[]; // the keys of a table typed by its keys
    const answered = names.find((name) => name === given.text(option));
    return answered ?? (given.has('yes') ? names[0] : await askChoice(title, choices, context));
  };
  const framework = await read('framework', 'Which framework runs your agent?', frameworkChoices);
  if (framework === undefined) return undefined;
  const store = await read('store', 'Where are calls recorded?', storeChoices);
  if (store === undefined) return undefined;
  const rules = await read('rules', 'What do the rules do with a large refund?', ruleChoices);
  return rules === undefined ? undefined : { framework, store, rules };
}

function* nextCommands(
  folder: string,
  choices: ProjectChoices,
  hasManifest: boolean,
  version: string,
): Generator<string> {
  if (hasManifest) {
    const scripts = Object.entries(projectScripts(choices));
    const settings = ['type=module', ...scripts.map(([name, line]) => `scripts.${name}=${shellWord(line)}`)];
    yield `npm pkg set ${settings.join(' ')}`;
    const packages = Object.entries(projectPackages(choices)).map(([name, range]) => `${name}@${range}`);
    if (packages.length > 0) yield `npm install ${packages.map(shellWord).join(' ')}`;
    const tools = Object.entries(developmentPackages).map(([name, range]) => `${name}@${range}`);
    yield `npm install --save-dev ${tools.map(shellWord).join(' ')}`;
  }
  if (!hasPackage(folder))
    yield `npm install ${packedPaths(choices, version)}   # made by \`npm run pack\`: the packages are not published yet`;
  else if (!hasManifest) yield 'npm install';
  if (choices.store === 'postgres')
    yield "echo 'QUITTANCE_LEDGER=postgres://app@localhost/agents' > .env   # your database";
  yield 'npm test';
  yield 'npm start';
  yield 'npm run console   # in another terminal: approve held calls, see all calls';
}

/** The packages that others need. npm finds them by itself once they are published. */
const shared = ['@quittance/adapter-kit', '@quittance/mcp', '@quittance/server'];
const alsoNeeded: Readonly<Record<string, string>> = {
  'google-adk': '@quittance/google-genai',
  mastra: '@quittance/ai-sdk',
  'openai-agents': '@quittance/openai',
};

const unpublishedPackages = (choices: ProjectChoices): readonly string[] =>
  [...neededPackages(choices), ...shared, alsoNeeded[choices.framework] ?? []].flat().toSorted();

const packedPaths = (choices: ProjectChoices, version: string): string =>
  unpublishedPackages(choices)
    .map((name) => `path/to/${packedName(name, version)}`)
    .join(' ');

const packedName = (name: string, version: string): string =>
  `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;

/** Can the package be imported from there? It may be installed in a parent folder, as in a workspace. */
function hasPackage(folder: string): boolean {
  try {
    createRequire(join(folder, 'package.json')).resolve('quittance/package.json');
    return true;
  } catch {
    return false;
  }
}

/** What the project needs of this product, with the range or the file that npm installs each package from. */
function ownPackages(
  folder: string,
  choices: ProjectChoices,
  version: string,
): Readonly<Record<string, string>> {
  const packed = packedFolder(folder);
  // The project names a file for each package that is not published.
  return packed === undefined
    ? Object.fromEntries(neededPackages(choices).map((name) => [name, `^${version}`]))
    : Object.fromEntries(
        unpublishedPackages(choices).map((name) => [name, `file:${packed}/${packedName(name, version)}`]),
      );
}

const neededPackages = ({ framework, store }: ProjectChoices): readonly string[] => [
  'quittance',
  '@quittance/cli',
  ...(framework === 'none' ? [] : [`@quittance/${framework}`]),
  ...(store === 'postgres' ? ['@quittance/postgres'] : []),
];

/**
 * The folder of the files that a parent folder installed these packages from, as seen from the new folder. The registry
 * may not have the packages, so their versions would not install there.
 */
function packedFolder(folder: string): string | undefined {
  for (let parent = dirname(folder); parent !== dirname(parent); parent = dirname(parent)) {
    if (!existsSync(join(parent, 'node_modules', 'quittance'))) continue;
    const file = /"quittance": *"file:([^"]+)"/.exec(readText(join(parent, 'package.json')) ?? '')?.[1];
    return file && relative(folder, dirname(resolve(parent, file))).replaceAll('\\', '/');
  }
  return undefined;
}

const readText = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined;

/**
 * Asks for one of the listed answers, by number or name. The first one is the default. An unknown answer is asked for
 * again. Undefined if the person stopped.
 */
async function askChoice<Name extends string>(
  title: string,
  choices: Readonly<Record<Name, Choice>>,
  { out, readLine }: Pick<Context, 'out' | 'readLine'>,
): Promise<Name | undefined> {
  if (readLine === undefined)
    throw new UsageError(
      'There is no terminal to ask the questions of init. Answer them with options, or accept the defaults.',
      [
        'quittance init my-agent --yes',
        'quittance init my-agent --framework ai-sdk --store sqlite --rules ask',
      ],
    );
  const names = Object.keys(choices) as Name[]; // the keys of a table typed by its keys
  await out.print(out.paint('bold', title));
  for (const [index, name] of names.entries())
    await out.print(`  ${String(index + 1).padStart(2)}  ${name.padEnd(14)} ${choices[name].label}`);
  for (;;) {
    const answer = await readLine(`Number or name [${names[0]}]: `);
    if (answer === undefined) return undefined;
    const typed = answer.trim();
    const found =
      typed === '' ? names[0] : (names[Number(typed) - 1] ?? names.find((name) => name === typed));
    if (found !== undefined) return found;
    await out.say(describeUnknownName('answer', typed, names));
  }
}

/**
 * Writes a project, all of it or nothing.
 *
 * 1. An existing file is never changed: a file that may not exist refuses the whole project.
 * 2. Everything is written without a pause, so a signal to this process cannot stop it halfway.
 * 3. If a write fails, the files and folders that were written are removed.
 */

const another = ['quittance init another-folder'];

/** Returns the names of the files that were written. */
export function writeProject(folder: string, files: readonly ProjectFile[]): readonly string[] {
  const taken = files.filter(({ name, mayExist }) => !mayExist && existsSync(join(folder, name)));
  if (taken.length > 0)
    throw new UsageError(`init would overwrite ${taken.map(({ name }) => name).join(', ')}.`, another);
  const missing = files.filter(({ name }) => !existsSync(join(folder, name)));
  // The agent's folder contains neither the contracts nor the ledger.
  const workspace = join(folder, 'workspace');
  const made = missingFolders(workspace);
  const written: string[] = [];
  try {
    makeFolder(folder, another);
    makeFolder(workspace, another);
    for (const { name, text } of missing) {
      const path = join(folder, name);
      writeFileSync(path, '', { flag: 'wx' });
      written.push(path);
      writeFileSync(path, text);
    }
  } catch (error) {
    for (const path of written) rmSync(path, { force: true });
    for (const path of made) removeEmpty(path);
    throw error;
  }
  return missing.map(({ name }) => name);
}

/** The folder and its parents that do not exist yet, the innermost first. */
function missingFolders(path: string): readonly string[] {
  return existsSync(path) ? [] : [path, ...missingFolders(dirname(path))];
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It was not created, or another process has written to it.
  }
}

/**
 * A project name derived from the folder name. It must be valid as an npm package name and, more narrowly, as the
 * name of contracts.
 */
function projectName(folder: string): string {
  const name = folder
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, longest);
  return refused.has(name) ? standIn : name;
}

const standIn = 'my-agent';
const longest = 100;

/** Empty: a name in another script. npm reserves the next two. The last is the installed package. */
const refused: ReadonlySet<string> = new Set(['', 'node_modules', 'favicon.ico', 'quittance']);

export type ProjectFile = {
  readonly name: string;
  readonly text: string;
  /** An existing file of this name stays as it is. Others must not exist. */
  readonly mayExist: boolean;
};

/** The files of a new project. Their sources are in `packages/quittance/templates/projects` of the package. */
export function projectFiles(
  name: string,
  /** What npm installs the packages of this product from: a range of versions, or the file of a package. */
  own: Readonly<Record<string, string>>,
  choices: ProjectChoices,
): readonly ProjectFile[] {
  const { framework, store, rules } = choices;
  const folder = templatesFolder();
  if (folder === undefined)
    throw new UsageError(
      'The templates of the package are missing. Install quittance and @quittance/cli in a project and run it from there.',
      ['npx quittance init'],
      exitCodes.broken,
    );
  const copied = ['common', `frameworks/${framework}`, `stores/${store}`, `rules/${rules}`].flatMap((part) =>
    readdirSync(join(folder, 'projects', part)).map((file): ProjectFile => {
      // npm leaves files named .gitignore out of packages.
      const isIgnoreFile = file === 'gitignore';
      return {
        name: isIgnoreFile ? '.gitignore' : file,
        text: readFileSync(join(folder, 'projects', part, file), 'utf8').replace(
          'name: PROJECT',
          `name: ${JSON.stringify(name)}`,
        ),
        mayExist: isIgnoreFile || file === 'tsconfig.json',
      };
    }),
  );
  const manifest = {
    name,
    private: true,
    type: 'module',
    engines: { node: '>=24.16' },
    scripts: projectScripts(choices),
    dependencies: { ...projectPackages(choices), ...own },
    devDependencies: developmentPackages,
  };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  return [...copied, { name: 'package.json', text, mayExist: true }];
}

/** What the project imports, without this package. */
export const projectPackages = ({ framework, store }: ProjectChoices): Readonly<Record<string, string>> => ({
  ...frameworkChoices[framework].packages,
  ...storeChoices[store].packages,
});

export function projectScripts({ store }: ProjectChoices): Readonly<Record<string, string>> {
  // The URL of a server has a password, so it is in a file that is not committed.
  const node = store === 'postgres' ? 'node --env-file-if-exists=.env' : 'node';
  const quittance = store === 'postgres' ? `${node} node_modules/@quittance/cli/dist/main.js` : 'quittance';
  return {
    start: `${node} main.ts`,
    console: `${quittance} serve --runtime quittance.ts`,
    test: 'node --test',
    types: 'tsc',
  };
}
