/**
 * Checks whether a changed file still type-checks. The program is kept, so that only the changed file is checked
 * again.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

export type TypeCheck = (path: string, text: string) => boolean;

export function createTypeCheck(root: string, paths: readonly string[]): TypeCheck {
  const configFile = join(root, 'tsconfig.json');
  const { config } = ts.readConfigFile(configFile, (file) => readFileSync(file, 'utf8')) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const changed = new Map<string, { readonly version: number; readonly text: string }>();
  let version = 0;
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => options,
    getScriptFileNames: () => paths.map((path) => join(root, path)),
    getScriptVersion: (file) => String(changed.get(file)?.version ?? 0),
    getScriptSnapshot: (file) => {
      const text = changed.get(file)?.text ?? ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (used) => ts.getDefaultLibFilePath(used),
    fileExists: (file) => ts.sys.fileExists(file),
    readFile: (file) => ts.sys.readFile(file),
    directoryExists: (folder) => ts.sys.directoryExists(folder),
    getDirectories: (folder) => ts.sys.getDirectories(folder),
  };
  const service = ts.createLanguageService(host);
  return (path, text) => {
    const file = join(root, path);
    changed.set(file, { version: ++version, text });
    const sound =
      service.getSyntacticDiagnostics(file).length === 0 && service.getSemanticDiagnostics(file).length === 0;
    changed.set(file, { version: ++version, text: readFileSync(file, 'utf8') });
    return sound;
  };
}

/** Caches results by text. `hashOf` returns a short name for a text. */
export function rememberChecks(
  check: TypeCheck,
  file: string,
  hashOf: (text: string) => string,
): { readonly check: TypeCheck; readonly save: () => void } {
  let known: Record<string, boolean> = {};
  try {
    known = JSON.parse(readFileSync(file, 'utf8')) as Record<string, boolean>;
  } catch {
    // Nothing was checked yet.
  }
  return {
    check: (path, text) => (known[hashOf(path + text)] ??= check(path, text)),
    save() {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, JSON.stringify(known));
    },
  };
}
