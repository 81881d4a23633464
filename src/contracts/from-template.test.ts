import { homedir } from 'node:os';
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

  test('takes the directory of the process where nobody says', async () => {
    expect(await read(`${process.cwd()}/a.txt`)).toBe('allow');
    expect(await read('/etc/passwd')).toBe('block');
  });

  test.each(['/', homedir()])('takes %s for no project', async (directory) => {
    vi.spyOn(process, 'cwd').mockReturnValue(directory);
    expect(await read('/etc/passwd')).toBe('block');
    expect(await read(`${homedir()}/notes.txt`)).toBe('block');
    expect(await read('docs/a.txt')).toBe('allow');
  });

  test.each(['file-agnt', 'File-Agent', '__proto__', 'constructor', ''])(
    'refuses %j and says what there is',
    (name) => {
      expect(() => contractsFromTemplate(name)).toThrowError(
        expect.objectContaining({
          code: 'config.invalid',
          message: expect.stringContaining('file-agent') as string,
        }),
      );
    },
  );

  test('keeps the version of the document', () => {
    for (const name of templateNames) {
      const { documents, version } = contractsFromTemplate(name);
      expect(documents).toMatchObject([{ name: `templates/${name}.yaml`, stamp: version }]);
    }
  });
});
