import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { contractsFromTemplate, templateNames } from './from-template.ts';

const read = async (path: string, options?: Parameters<typeof contractsFromTemplate>[1]): Promise<string> => {
  const contracts = contractsFromTemplate('file-agent', options);
  return (await contracts.evaluate({ toolName: 'read_file', input: { path } })).decision;
};

describe('contractsFromTemplate', () => {
  afterEach(() => vi.restoreAllMocks());

  test('takes the project folder from workingDirectory', async () => {
    expect(await read('/srv/project/a.txt', { workingDirectory: '/srv/project' })).toBe('allow');
    expect(await read('/srv/other/a.txt', { workingDirectory: '/srv/project' })).toBe('block');
    expect(await read('sub/a.txt', { workingDirectory: '/srv/project' })).toBe('allow');
  });

  test('defaults to the directory of the process', async () => {
    expect(await read(`${process.cwd()}/a.txt`)).toBe('allow');
    expect(await read('/etc/passwd')).toBe('block');
  });

  test.each(['/', homedir()])('does not accept %s as a project', async (directory) => {
    vi.spyOn(process, 'cwd').mockReturnValue(directory);
    expect(await read('/etc/passwd')).toBe('block');
    expect(await read(`${homedir()}/notes.txt`)).toBe('block');
    expect(await read('docs/a.txt')).toBe('allow');
  });

  test.each(['file-agnt', 'File-Agent', '__proto__', 'constructor', ''])(
    'rejects %j and lists the templates',
    (name) => {
      expect(() => contractsFromTemplate(name)).toThrowError(
        expect.objectContaining({
          code: 'config.invalid',
          message: expect.stringContaining('file-agent') as string,
        }),
      );
    },
  );

  test('says what to do if the code is in a program without the files of the package', async () => {
    const app = mkdtempSync(join(tmpdir(), 'quittance-bundled-'));
    const root = join(import.meta.dirname, '../../../..');
    try {
      // As a bundler leaves it: the code is in another package, which even has its own templates.
      for (const name of ['src', 'templates'])
        cpSync(join(root, 'packages/quittance', name), join(app, name), { recursive: true });
      writeFileSync(join(app, 'package.json'), '{ "name": "app", "type": "module" }');
      symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'));
      const program = `import { contractsFromTemplate } from './src/contracts.ts';
        try { contractsFromTemplate('file-agent') } catch ({ code, message }) { console.log(code, message) }`;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--input-type=module', '--eval', program],
        { cwd: app },
      );
      expect(stdout).toMatch(/^config\.invalid .*exclude it from the bundle.*templates\/file-agent\.yaml/);
    } finally {
      rmSync(app, { recursive: true, force: true });
    }
  });

  test('keeps the version of the document', () => {
    for (const name of templateNames) {
      const { documents, version } = contractsFromTemplate(name);
      expect(documents).toMatchObject([{ name: `templates/${name}.yaml`, stamp: version }]);
    }
  });
});
