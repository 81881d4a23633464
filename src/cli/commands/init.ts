import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { CliCommand, Context, Given } from '../command.ts';
import { makes } from '../command.ts';
import { exitCodes } from '../exit-code.ts';
import { shellWord } from '../find-call.ts';
import { askChoice } from '../init/ask-choice.ts';
import type { Choice, ProjectChoices } from '../init/project-choices.ts';
import { developmentPackages, frameworkChoices, ruleChoices, storeChoices } from '../init/project-choices.ts';
import { projectFiles, projectPackages, projectScripts } from '../init/project-files.ts';
import { writeProject } from '../init/write-project.ts';
import { projectName } from '../project-name.ts';
import { terminalText } from '../terminal-text.ts';

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
      projectFiles(projectName(basename(folder)), packageSpecFor(folder) ?? `^${version}`, choices),
    );
    for (const file of [...written, 'workspace/']) await out.print(`wrote ${terminalText(file)}`);
    await out.print('');
    if (typed !== '.') await out.print(`cd ${shellWord(terminalText(typed))}`);
    if (ignored !== undefined && !/^\/?\.quittance\/?$/m.test(ignored))
      await out.print("echo '.quittance/' >> .gitignore");
    for (const line of nextCommands(folder, choices, hasManifest, version)) await out.print(line);
    if (!process.features.typescript)
      await err.say(
        `This Node (${process.versions.node}) cannot run TypeScript files. Install Node 22.18 or newer.`,
      );
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
    yield `npm install path/to/quittance-${version}.tgz   # made by \`npm pack\`: the package is not published yet`;
  else if (!hasManifest) yield 'npm install';
  if (choices.store === 'postgres')
    yield "echo 'QUITTANCE_LEDGER=postgres://app@localhost/agents' > .env   # your database";
  yield 'npm test';
  yield 'npm start';
  yield 'npm run console   # in another terminal: approve held calls, see all calls';
}

/** Can the package be imported from there? It may be installed in a parent folder, as in a workspace. */
function hasPackage(folder: string): boolean {
  try {
    createRequire(join(folder, 'package.json')).resolve('quittance/package.json');
    return true;
  } catch {
    return false;
  }
}

/**
 * The file that a parent folder installed this package from, as seen from the new folder. The registry may not have the
 * package, so its version would not install there.
 */
function packageSpecFor(folder: string): string | undefined {
  for (let parent = dirname(folder); parent !== dirname(parent); parent = dirname(parent)) {
    if (!existsSync(join(parent, 'node_modules', 'quittance'))) continue;
    const spec = /"quittance": *"file:([^"]+)"/.exec(readText(join(parent, 'package.json')) ?? '')?.[1];
    return spec && `file:${relative(folder, resolve(parent, spec)).replaceAll('\\', '/')}`;
  }
  return undefined;
}

const readText = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined;
