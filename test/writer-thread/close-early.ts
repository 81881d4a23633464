/** A process that closes its ledger while the writer thread starts. Prints a line when everything is stored. */
import { openSqliteLedger } from '../../packages/quittance/src/store/sqlite/open-sqlite-ledger.ts';
import { SampleCall } from '../../packages/quittance/src/testing/sample-call.ts';

const ledger = await openSqliteLedger(process.argv[2] ?? '');
const appends = Array.from({ length: 20 }, (_, index) =>
  ledger.append(new SampleCall(`call-${index}`, { sessionId: 's' }).whole()),
);
await Promise.all(appends);
await ledger.close();
console.log(`stored ${appends.length}`);
