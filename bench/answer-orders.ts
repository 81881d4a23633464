import type { Runtime } from 'quittance';
import type { Ledger } from 'quittance/store';
import type { HttpServer } from 'quittance/http';

/** Lets whoever started this process ask how its server fares, and end it. Says first where the server is. */
export function answerOrders(
  { server, runtime, ledger }: { server: HttpServer; runtime: Runtime; ledger: Ledger },
  report: () => object,
): void {
  process.on('message', (order: 'report' | 'stop') => {
    if (order === 'report') return void process.send?.(report());
    void server.close().then(async () => {
      await runtime.close();
      await ledger.close();
      process.exit(0);
    });
  });
  process.send?.({ url: server.url, token: server.token });
}
