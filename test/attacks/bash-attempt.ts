/** A command that is tried against a document of rules, as a call of the tool Bash in the folder of the project. */
import type { JsonObject } from '../../packages/quittance/src/base/json.ts';
import type { Door, Verdict } from './attack-class.ts';
import { callTool, loadDocument, project } from './attack.ts';

export type BashAttempt = { readonly name: string; readonly input: JsonObject };

export const runBashUnder =
  (document: string) =>
  ({ input }: BashAttempt, door: Door): Promise<Verdict> =>
    callTool({
      door,
      contracts: loadDocument(document, door),
      tool: 'Bash',
      input: { ...input, working_directory: project },
    });
