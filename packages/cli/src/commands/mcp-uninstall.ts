import { isDeepStrictEqual } from 'node:util';
import { changeConfigFile, readInstalled } from '@quittance/mcp/internal/config/config-change';
import { uninstallGateway } from '@quittance/mcp/internal/config/rewrite-config';
import type { ConfigRewrite } from '../client-configs.ts';
import {
  applyRewrites,
  configOptions,
  installFolder,
  readClientConfigs,
  rewriteEffect,
} from '../client-configs.ts';
import { setObserved } from '../run-gateway.ts';
import { proofOptions } from '../proof.ts';
import type { CliCommand, Context, Given } from '../command.ts';
import { jsonOption } from '../command.ts';

export const mcpUninstallCommand: CliCommand = {
  name: 'mcp uninstall',
  summary: 'Take the MCP servers of a client out from behind Quittance',
  about: [
    'Turns the entries that quittance mcp install wrote back into what they were, to the byte. Everything else in the file stays, including later edits. Shows the changes and asks first, and keeps a copy of the file. The ledger keeps its records.',
    'This takes checks away. A person confirms it at a terminal, or --token-file names the token of an admin of the ledger.',
  ],
  options: {
    ...configOptions,
    yes: { help: 'With a token: do not ask' },
    ...proofOptions,
    json: jsonOption,
  },
  examples: [
    ['quittance mcp uninstall --client claude-desktop', 'the servers of a client'],
    ['quittance mcp uninstall --config .mcp.json --yes --token-file admin.token', 'without a question'],
  ],
  effect: async (given, context) =>
    rewriteEffect(
      await readRewrites(given, context),
      { line: 'quittance mcp uninstall --yes', side: 'from' },
      given,
      context,
    ),
  async run(given, context) {
    const folder = installFolder(context);
    return applyRewrites(await readRewrites(given, context), {
      word: 'uninstall',
      confirmed: (changed) =>
        setObserved(
          changed.map(({ from }) => from),
          false,
          given,
          context,
        ),
      verb: 'Take these servers out from behind Quittance',
      given,
      context,
      write: ({ file, text: from }, { text: to, changed }) => {
        const installed = readInstalled(folder, file).filter(
          ({ path }) => !changed.some((entry) => isDeepStrictEqual(entry.path, path)),
        );
        return changeConfigFile({ file, folder, from, to, installed, now: context.now() });
      },
    });
  },
};

async function readRewrites(given: Given, context: Context): Promise<readonly ConfigRewrite[]> {
  const folder = installFolder(context);
  const documents = await readClientConfigs('mcp uninstall', given, context);
  return documents.map((document) => ({
    document,
    rewrite: uninstallGateway(document, readInstalled(folder, document.file)),
  }));
}
