import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { changeConfigFile, readInstalled } from '@quittance/mcp/internal/config/config-change';
import type { ConfigDocument } from '@quittance/mcp/internal/config/config-document';
import { noSettings } from '@quittance/mcp/internal/config/quittance-settings';
import { readSettingsFile } from '@quittance/mcp/internal/config/read-mcp-config';
import type { Rewrite } from '@quittance/mcp/internal/config/rewrite-config';
import { installGateway } from '@quittance/mcp/internal/config/rewrite-config';
import type { Wrapper } from '@quittance/mcp/internal/config/wrap-entry';
import { hideUrlPasswords, parseLedgerUrl } from 'quittance/internal/store/ledger-url';
import type { ConfigRewrite } from '../client-configs.ts';
import {
  applyRewrites,
  configOptions,
  homeOf,
  installFolder,
  readClientConfigs,
  rewriteEffect,
} from '../client-configs.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption, makes } from '../command.ts';
import { proofOptions } from '../proof.ts';
import { setObserved } from '../run-gateway.ts';
import { needFile } from '../load-or-explain.ts';
import { UsageError } from '../usage-error.ts';

const line = 'quittance mcp install --client claude-desktop';

export const mcpInstallCommand: CliCommand = {
  name: 'mcp install',
  summary: 'Put the MCP servers of a client behind Quittance',
  about: [
    'Rewrites every server in the configuration of the client so that it starts through quittance mcp wrap. Shows the changes and asks first. Variables and headers stay; comments and formatting stay. A copy of the file is kept in ~/.quittance/mcp, and quittance mcp uninstall restores the servers.',
    'With --client, the configuration of the user and that of the project in this folder are changed. Close the client first and start it again afterwards. Calls are recorded in ~/.quittance/ledger.db unless --ledger or QUITTANCE_LEDGER names another ledger.',
    'With --observe, tools run without the question. A person confirms that at a terminal, or --token-file names the token of an admin of the ledger.',
  ],
  options: {
    ...configOptions,
    observe: { help: 'Run tools that would ask, and record that they would have asked' },
    settings: { value: 'FILE', help: "File with Quittance's own settings for these servers", file: true },
    program: { value: 'FILE', help: 'Program that the client starts; default: this one' },
    yes: { help: 'Do not ask; with --observe, this needs a token' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: [
    [`${line} --observe`, 'start by recording only'],
    ['quittance mcp install --client vscode --yes', 'without a question'],
    ['quittance mcp install --config .mcp.json', 'one file'],
  ],
  async effect(given, context) {
    const { observes, rewrites } = await readRewrites(given, context);
    const how = { line: `${line} --observe --yes`, side: 'to' } as const;
    return observes ? rewriteEffect(rewrites, how, given, context) : makes;
  },
  async run(given, context) {
    const { observes, rewrites } = await readRewrites(given, context);
    return applyRewrites(rewrites, {
      verb: 'Put these servers behind Quittance',
      given,
      context,
      write: writeInstalled,
      ...(observes && {
        word: 'observe',
        confirmed: (changed: Rewrite['changed']) =>
          setObserved(
            changed.map(({ to }) => to),
            true,
            given,
            context,
          ),
      }),
    });
  },
};

async function readRewrites(
  given: Given,
  context: Context,
): Promise<{ readonly observes: boolean; readonly rewrites: readonly ConfigRewrite[] }> {
  const documents = await readClientConfigs('mcp install', given, context);
  const { observes, ...wrapper } = await readWrapper(given, context);
  const rewrites = documents.map((document) => ({ document, rewrite: installGateway(document, wrapper) }));
  return { observes, rewrites };
}

function writeInstalled(document: ConfigDocument, { text: to, changed }: Rewrite, context: Context): string {
  const { file, text: from } = document;
  const folder = installFolder(context);
  const earlier = readInstalled(folder, file).filter(
    ({ path }) => !changed.some((entry) => isDeepStrictEqual(entry.path, path)),
  );
  const installed = [...earlier, ...changed.map(({ path, before, after }) => ({ path, before, after }))];
  return changeConfigFile({ file, folder, from, to, installed, now: context.now() });
}

async function readWrapper(
  given: Given,
  context: Context,
): Promise<Wrapper & { readonly observes: boolean }> {
  const settings = given.text('settings');
  if (settings !== undefined) needFile(settings, line);
  const { allowHttp, observe } = settings === undefined ? noSettings : await readSettingsFile(settings);
  return {
    allowHttp,
    // The settings may say it too.
    observes: given.has('observe') || observe,
    program: findProgram(given.text('program')),
    ledger: findInstallLedger(given, context),
    observe: given.has('observe'),
    ...(settings !== undefined && { settings: resolve(settings) }),
  };
}

/** A client starts in another folder, so the ledger has an absolute path. */
function findInstallLedger(given: Given, context: Context): string {
  const typed = given.text('ledger') ?? context.env['QUITTANCE_LEDGER'];
  const address = parseLedgerUrl(typed || join(homeOf(context), '.quittance', 'ledger.db'));
  if (address.kind === 'sqlite') return resolve(address.path);
  if (address.kind === 'memory')
    throw new UsageError('A ledger in memory ends with its process.', [`${line} --ledger ~/ledger.db`]);
  if (hideUrlPasswords(address.url) !== address.url)
    throw new UsageError(
      'The ledger URL has a password, and the arguments of a program can be read by other users. Use a password file of PostgreSQL instead.',
      [`${line} --ledger postgres://user@host/database`],
    );
  return address.url;
}

/** The absolute command of this program: clients often start without the user's PATH. */
function findProgram(typed: string | undefined): Wrapper['program'] {
  if (typed !== undefined) return [/[\\/]/.test(typed) ? resolve(typed) : typed];
  const script = realpathSync(process.argv[1] ?? '');
  if (/[\\/]_npx[\\/]/.test(script))
    throw new UsageError('npx may remove this copy of the program at any time. Install it first.', [
      'npm install --global @quittance/cli',
      `${line} --program quittance`,
    ]);
  return [process.execPath, ...process.execArgv, script];
}
