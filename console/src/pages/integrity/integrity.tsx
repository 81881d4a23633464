import type { ReactNode } from 'react';
import { PageHead } from '../../ui/page-head.tsx';

export default function Integrity(): ReactNode {
  return <PageHead title="Integrity" />;
}
