/** Attacks on the runtime's own files: its ledger, key, tokens and contract files. */
import { changeAttempts, companions, folderAttempts, spellings } from '../own-files/own-file-spellings.ts';
import { setOwnFilesStage, type OwnFilesStage } from '../own-files/own-files-stage.ts';
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import { attackClass, type AttackClass, type Door, type Family, type Verdict } from './attack-class.ts';

type Attempt = {
  readonly name: string;
  readonly tool: string;
  readonly input: (stage: OwnFilesStage) => JsonObject;
};

/** The attempts of a class share a stage, because the bodies of its tools change nothing. */
function ownFilesClass(
  where: 'inside' | 'outside',
  {
    id,
    title,
    attempts,
  }: { readonly id: string; readonly title: string; readonly attempts: readonly Attempt[] },
): AttackClass {
  let opened: Promise<OwnFilesStage> | undefined;
  const open = async (door: Door): Promise<OwnFilesStage> => {
    const stage = await setOwnFilesStage(door, where);
    door.onEnd(() => {
      opened = undefined;
      return stage.close();
    });
    return stage;
  };
  return attackClass({
    id,
    title,
    attempts,
    run: async ({ tool, input }, door): Promise<Verdict> => {
      const stage = await (opened ??= open(door));
      stage.ran.length = 0;
      const outcome = await stage.call(tool, input(stage));
      return outcome.type === 'ToolDenied' && stage.ran.length === 0 ? 'held' : 'through';
    },
  });
}

const rows: readonly (readonly [id: string, title: string, ids: RegExp])[] = [
  ['own-files-links', 'links and hard links to own files', /^own-path-(?:.*link)/],
  ['own-files-process', 'own files by way of /proc and /dev', /^own-path-(?:proc|dev|memory)/],
  ['own-files-patterns', 'wildcards and braces that match own files', /^own-path-(?:glob|braces)/],
  [
    'own-files-encodings',
    'escapes, capitals and odd characters in the name of an own file',
    /^own-path-(?:percent|capitals|fullwidth|trailing|stream|blank|backslash)/,
  ],
  ['own-files-schemes', 'a scheme before the path of an own file', /^own-path-(?:file-url|scheme)/],
  [
    'own-files-anchors',
    'an own file from a home, a variable or a directory only the tool knows',
    /^own-path-(?:home|variable|foreign|tool-root)/,
  ],
  ['own-files-paths', 'an own file by its path', /^own-path-/],
  [
    'own-files-folders-in-commands',
    'a command on the folder of own files',
    /^own-command-(?:tar|copy|remove|move|find|xargs|write-into|link)/,
  ],
  ['own-files-commands', 'an own file in a command, however it is spelled', /^own-command-/],
  ['own-files-arguments', 'an own file in an argument whose name says nothing', /^own-/],
];

function sort(): readonly AttackClass[] {
  const rest = new Set(spellings);
  return rows.map(([id, title, ids]) => {
    const own = [...rest].filter((spelling) => ids.test(spelling.id));
    for (const spelling of own) rest.delete(spelling);
    return ownFilesClass('outside', {
      id,
      title,
      attempts: own.map(({ id: name, tries, tool, input }) => ({ name: `${name}: ${tries}`, tool, input })),
    });
  });
}

const inAgentFolder = (tool: string, input: JsonObject, { agent }: OwnFilesStage): JsonObject =>
  tool === 'Bash' ? { ...input, cwd: agent } : input;

export const ownFileFamily: Family = {
  title: "The runtime's own files",
  file: 'test/attacks/own-file-classes.ts',
  classes: [
    ...sort(),
    ownFilesClass('outside', {
      id: 'own-files-companions',
      title: 'every file next to the ledger',
      attempts: companions.map((suffix) => ({
        name: `ledger.db${suffix}`,
        tool: 'Write',
        input: ({ ledgerPath }) => ({ path: ledgerPath + suffix, content: '' }),
      })),
    }),
    ownFilesClass('inside', {
      id: 'own-files-above',
      title: 'a search, copy or removal of a folder above the ledger',
      attempts: folderAttempts.map(([tool, input]) => ({
        name: `${tool} ${JSON.stringify(input)}`,
        tool,
        input: (stage) => inAgentFolder(tool, input, stage),
      })),
    }),
    ownFilesClass('outside', {
      id: 'own-files-rules',
      title: 'a write to a contract file in force',
      attempts: changeAttempts.map(([tool, input]) => ({
        name: `${tool} ${JSON.stringify(input)}`,
        tool,
        input: (stage) => inAgentFolder(tool, input, stage),
      })),
    }),
  ],
};
