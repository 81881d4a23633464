/** Prints the adapter matrix, for `npm run docs`. A separate process, because it loads every framework. */
import { renderMatrix } from './matrix.ts';

process.stdout.write(await renderMatrix());
process.exit(0);
