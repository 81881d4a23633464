import { checkObject } from '../base/check-keys.ts';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, parse, resolve } from 'node:path';
import { QuittanceError } from '../base/error.ts';
import { describeUnknownName } from '../base/nearest.ts';
import type { ContractsOptions } from './contracts-options.ts';
import { LoadedContracts } from './loaded-contracts.ts';
import { createReadText, readDocuments } from './read-documents.ts';
import { templatesFolder } from '../runtime/own-files.ts';

export type TemplateName =
  | 'coding-agent'
  | 'coding-workflow'
  | 'devops-agent'
  | 'file-agent'
  | 'research-agent';

/** The templates in the folder `templates` of the package: each is a document. The repository has cases that test them. */
export const templateNames: readonly TemplateName[] = Object.freeze([
  'coding-agent',
  'coding-workflow',
  'devops-agent',
  'file-agent',
  'research-agent',
]);

/**
 * Contracts for a common kind of agent. Their `.` is the project folder: `workingDirectory`, or else the directory of
 * this process. The root and the home directory are not projects: then no absolute path is inside. To change a
 * template, copy its document from `node_modules/quittance/templates` and load the copy.
 */
export function contractsFromTemplate(
  name: TemplateName | (string & {}),
  options: ContractsOptions = {},
): LoadedContracts {
  if (!isTemplateName(name))
    throw new QuittanceError('config.invalid', describeUnknownName('template', String(name), templateNames));
  checkObject('contractsFromTemplate', options);
  const workingDirectory = options.workingDirectory ?? projectHere(options.homeDirectory ?? homedir());
  const all = { ...options, ...(workingDirectory !== undefined && { workingDirectory }) };
  const source = `templates/${name}.yaml`;
  return new LoadedContracts(
    readDocuments([{ source, text: readTemplate(name) }], [], createReadText(all)),
    all,
  );
}

const isTemplateName = (name: unknown): name is TemplateName => templateNames.some((known) => known === name);

/** Reads the document that ships with the package. Calls cannot change it: it is one of the runtime's own files. */
function readTemplate(name: TemplateName): string {
  const folder = templatesFolder();
  try {
    if (folder !== undefined) return readFileSync(join(folder, `${name}.yaml`), 'utf8');
  } catch (error) {
    throw unreadable(name, error);
  }
  throw unreadable(name, undefined);
}

const unreadable = (name: TemplateName, cause: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    `The template "${name}" is a file of the package quittance, which cannot be read from here. If a ` +
      'bundler included quittance in your program, exclude it from the bundle. Or copy the document from ' +
      `node_modules/quittance/templates/${name}.yaml into your project and load the copy.`,
    { template: name },
    cause,
  );

function projectHere(home: string): string | undefined {
  const here = process.cwd();
  return here === parse(here).root || here === resolve(home) ? undefined : here;
}
