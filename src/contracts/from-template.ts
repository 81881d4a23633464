import { homedir } from 'node:os';
import { parse, resolve } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { describeUnknownName } from '../base/nearest.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { LoadedContracts } from './loaded-contracts.ts';
import { createReadText, readDocuments } from './read-documents.ts';
import { templateDocuments, type TemplateName } from './template-documents.ts';

/** The templates there are. Their documents and what they are tested by lie in the folder `templates` of the package. */
export const templateNames: readonly TemplateName[] = Object.freeze(
  // The keys of a table typed by its keys.
  Object.keys(templateDocuments) as TemplateName[],
);

/**
 * Contracts for a common kind of agent. Their `.` is the project folder: `workingDirectory`, else the directory this
 * process works in; where that is the root or the home directory, which is no project, nothing absolute is inside.
 * To change one, copy its document from `node_modules/quittance/templates` and load that.
 */
export function contractsFromTemplate(
  name: TemplateName | (string & {}),
  options: ContractsOptions = {},
): LoadedContracts {
  if (!isTemplateName(name))
    throw new QuittanceError('config.invalid', describeUnknownName('template', String(name), templateNames));
  const workingDirectory = options.workingDirectory ?? projectHere(options.homeDirectory ?? homedir());
  const all = { ...options, ...(workingDirectory !== undefined && { workingDirectory }) };
  const source = `templates/${name}.yaml`;
  return new LoadedContracts(
    readDocuments([{ source, text: templateDocuments[name] }], [], createReadText(all)),
    all,
  );
}

const isTemplateName = (name: unknown): name is TemplateName =>
  typeof name === 'string' && Object.hasOwn(templateDocuments, name);

function projectHere(home: string): string | undefined {
  const here = process.cwd();
  return here === parse(here).root || here === resolve(home) ? undefined : here;
}
