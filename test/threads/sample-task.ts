/** A task for tests of `TaskThread`. */
import { QuittanceError } from '../../packages/quittance/src/base/error.ts';
import type { BeginTask } from '../../packages/quittance/src/threads/work-thread.ts';

export type SampleOrder =
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'wait' }
  | { readonly kind: 'count'; readonly to: number }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'throw' }
  | { readonly kind: 'exit' };

export const begin: BeginTask<{ readonly factor: number }, SampleOrder, number | string, number> = ({
  factor,
}) => ({
  async work(order, { signal, tell }) {
    switch (order.kind) {
      case 'double':
        return order.value * factor;
      case 'wait':
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return 'stopped';
      case 'count':
        for (let done = 1; done <= order.to; done++) tell(done);
        return 'counted';
      case 'refuse':
        throw new QuittanceError('config.invalid', 'The order is not valid.', { field: 'kind' });
      case 'throw':
        throw new TypeError('The task has a mistake.');
      case 'exit':
        process.exit(0);
    }
  },
});
