/** The result tables of docs/contributing/suite.md, as tests compare them with what the suite finds. */
import { readPage } from '../../../fixtures/markdown.ts'

/** The rows of the table under a heading that contains these words: the first column, and the second. */
export function tableOf(heading: string): Readonly<Record<string, string | number>> {
  const [, section = ''] = readPage('docs/contributing/suite.md').split(
    new RegExp(`^## .*${heading}.*$`, 'm'),
  )
  const [own = ''] = section.split(/^## /m)
  const rows = [...own.matchAll(/^\| `?([^|`]+?)`? \| ([^|]+?) \|/gm)].slice(1)
  return Object.fromEntries(
    rows.map(([, name = '', value = '']) => [name, /^\d+$/.test(value) ? Number(value) : value]),
  )
}
