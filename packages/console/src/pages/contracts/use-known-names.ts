/** Names of tools and of their arguments, for suggestions. */
import { useCallback, useMemo } from 'react';
import type { ToolDetail, ToolList } from '@quittance/server/internal/http/api/tool';
import { pathOf } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import type { KnownNames } from '../../rule-editor/completions.ts';
import { schemaFields } from '../tools/schema-fields.ts';

/** `toolName`: the tool of the rule that is being edited. Only its arguments are known. */
export function useKnownNames(toolName: string | undefined): KnownNames {
  const list = useAnswer<ToolList>('/v1/tools');
  const rows = list.data?.rows;
  const isKnown = rows?.some(({ name, known }) => known && name === toolName) === true;
  const detail = useAnswer<ToolDetail>(
    isKnown && toolName !== undefined ? pathOf('tools', toolName) : undefined,
  );
  const schema = detail.data?.schema;
  const paths = useMemo(
    () =>
      schema === undefined
        ? []
        : schemaFields(schema)
            .map(({ path }) => path)
            // A selector cannot look into a list.
            .filter((path) => !path.includes('[]')),
    [schema],
  );
  const argumentsOf = useCallback((name: string) => (name === toolName ? paths : []), [toolName, paths]);
  return useMemo(() => ({ tools: rows?.map(({ name }) => name) ?? [], argumentsOf }), [rows, argumentsOf]);
}
