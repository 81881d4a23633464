import { createRequire } from 'node:module';
import { arch, platform, release } from 'node:os';
import { isQuittanceError } from 'quittance/internal/base/error';
import { openDatabase, prepareValue } from 'quittance/internal/store/sqlite/database';
import type { Finding } from './finding.ts';
import { fine, problem, warning } from './finding.ts';

const require = createRequire(import.meta.url);
const leastNode = '24.16';
/** Long-term releases have even numbers. */
const isLongTerm = (major: number): boolean => major % 2 === 0;

export function* checkVersions(
  version: string,
  kind: 'sqlite' | 'postgres',
  nodeVersion: string = process.versions.node,
): Generator<Finding> {
  const [major, minor] = readVersion(nodeVersion);
  const [leastMajor, leastMinor] = readVersion(leastNode);
  if (major < leastMajor || (major === leastMajor && minor < leastMinor))
    yield problem(
      'node',
      `Node ${nodeVersion} is too old.`,
      `Install Node ${leastNode} or newer: nvm install 24`,
    );
  else if (!isLongTerm(major))
    yield warning(
      'node',
      `Node ${nodeVersion} is not a long-term release: it gets fixes for a few months only.`,
      'Install an even version for production: nvm install 24',
    );
  else yield fine('node', `Node ${nodeVersion}, quittance ${version}, ${platform()} ${release()} ${arch()}`);
  if (kind === 'sqlite') yield checkSqlite();
  else yield checkDriver();
}

function readVersion(version: string): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
}

function checkSqlite(): Finding {
  try {
    const database = openDatabase(':memory:');
    const found = prepareValue<string>(database, 'SELECT sqlite_version()').get() ?? '?';
    database.close();
    return fine('sqlite', `SQLite ${found}`);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return problem(
      'sqlite',
      isQuittanceError(error) ? message : `SQLite cannot be used: ${message}.`,
      `Install Node ${leastNode} or newer, built with SQLite: nvm install 24`,
    );
  }
}

function checkDriver(): Finding {
  try {
    // The driver belongs to that package, which may be the only one that can load it.
    const ledger = createRequire(require.resolve('@quittance/postgres/package.json'));
    const { version } = ledger('pg/package.json') as { readonly version: string };
    return fine('pg', `pg ${version}`);
  } catch {
    return problem(
      'pg',
      'The package "@quittance/postgres" or "pg" is not installed.',
      'Install them: npm install @quittance/postgres pg',
    );
  }
}
