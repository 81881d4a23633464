import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { templatesFolder } from '../../runtime/files/package-folder.ts';
import { exitCodes } from '../exit-code.ts';
import { UsageError } from '../usage-error.ts';
import type { ProjectChoices } from './project-choices.ts';
import { developmentPackages, frameworkChoices, storeChoices } from './project-choices.ts';

export type ProjectFile = {
  readonly name: string;
  readonly text: string;
  /** An existing file of this name stays as it is. Others must not exist. */
  readonly mayExist: boolean;
};

/** The files of a new project. Their sources are in `templates/projects` of the package. */
export function projectFiles(
  name: string,
  /** What npm installs this package from: a range of versions, or the file of a package that is not published. */
  packageSpec: string,
  choices: ProjectChoices,
): readonly ProjectFile[] {
  const { framework, store, rules } = choices;
  const folder = templatesFolder(import.meta.url);
  if (folder === undefined)
    throw new UsageError(
      'The templates of the package are missing. Install quittance in a project and run it from there.',
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
    engines: { node: '>=22.18' },
    scripts: projectScripts(choices),
    dependencies: { ...projectPackages(choices), quittance: packageSpec },
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
  const quittance = store === 'postgres' ? `${node} node_modules/quittance/dist/cli.js` : 'quittance';
  return {
    start: `${node} main.ts`,
    console: `${quittance} serve --runtime quittance.ts`,
    test: 'node --test',
    types: 'tsc',
  };
}
