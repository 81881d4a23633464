import type { ReactNode } from 'react';
import type { ToolList } from '@quittance/server/internal/http/api/tool';
import { useAnswer } from '../../api/use-answer.ts';
import { addressOf, goTo, useRoute } from '../../route.ts';
import '../../styles/tools.css';
import { IdInput } from '../../ui/id-input.tsx';
import { Empty } from '../../ui/empty.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import type { ToolOrder } from './sort-tools.ts';
import { findTools, isToolOrder, sortTools } from './sort-tools.ts';
import { ToolTable } from './tool-table.tsx';

const snippet = `import { createRuntime, defineTool } from 'quittance';
import { z } from 'zod';

const refund = defineTool({
  name: 'refund',
  description: 'Gives a customer money back.',
  mode: 'external',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  run: ({ order, cents }) => bank.refund(order, cents),
});
const runtime = createRuntime({ tools: [refund], ledger });`;

export default function Tools(): ReactNode {
  const { query } = useRoute();
  const list = useAnswer<ToolList>('/v1/tools', {}, { everyMs: 10_000 });
  const search = query.get('search') ?? '';
  const asked = query.get('sort');
  const order = isToolOrder(asked) ? asked : 'calls';
  const reverse = query.get('reverse') === 'yes';
  const show = (change: Readonly<Record<string, string | undefined>>): void =>
    goTo(addressOf(['tools'], { search, sort: order, reverse: reverse ? 'yes' : undefined, ...change }), {
      replace: true,
    });
  const sortBy = (wanted: ToolOrder): void =>
    show({ sort: wanted, reverse: wanted === order && !reverse ? 'yes' : undefined });
  const all = list.data?.rows;
  const rows = all && sortTools(findTools(all, search), order, reverse);
  return (
    <>
      <PageHead title="Tools" about="All tools, with their mode, error rate and execution time.">
        <IdInput
          type="search"
          data-search
          aria-label="Find tools by name, description or mode"
          placeholder="Find tools"
          value={search}
          onValue={(search) => show({ search })}
        />
      </PageHead>
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      {rows === undefined ? (
        list.error === undefined && <Skeleton rows={8} />
      ) : all?.length === 0 ? (
        <Empty title="No tools yet" snippet={snippet}>
          This server has no tools, and this ledger has no calls. A tool is a name, a schema and a function:
        </Empty>
      ) : rows.length === 0 ? (
        <Empty title="No matching tools">No name, description or mode matches the search.</Empty>
      ) : (
        <ToolTable {...{ rows, order, reverse }} onSort={sortBy} />
      )}
    </>
  );
}
