// The programs on the pages of the book about frameworks.

import { test } from 'node:test';
import { ADAPTER_PAGES, runPages } from '../pages.ts';

test('the programs of the pages of the adapters print what stands beside them', (t) => runPages(t, ADAPTER_PAGES));
