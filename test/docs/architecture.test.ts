/** docs/architecture.md, compared with the imports of the source and with a migrated database. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { QueryTypes } from 'sequelize'
import { type Database, openDatabase } from '../../fixtures/databases.ts'
import { blocksOf, ROOT, readPage } from '../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../fixtures/page.ts'
import { readSource } from '../../fixtures/source.ts'

const PAGE = readPage('docs/architecture.md')
const SRC = path.join(ROOT, 'src')

/** The boxes of the second picture by the folders and files of `src` they stand for, and the arrows between them. */
const [, { code: picture } = { code: '' }] = blocksOf(PAGE).filter(({ language }) => language === 'mermaid')
const boxes = new Map(
  [...picture.matchAll(/(\w+)\["([^"]+)"\]/g)].map(([, id = '', names = '']) => [id, names.split(', ')]),
)
const arrows = [...picture.matchAll(/^ *(\w+)\S*? --> (\w+)/gm)].map(([, from = '', to = '']) => [from, to])

const boxOf = (entry: string): string =>
  [...boxes].find(([, names]) => names.includes(entry.split(path.sep)[0] ?? ''))?.[0] ?? `no box of ${entry}`

/** Every import from one box to another, as `from → to`. */
const imports = new Set(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readSource(file).matchAll(/from '(\.[^']+)'/g)].map(([, specifier = '']) => [
        boxOf(file),
        boxOf(path.join(path.dirname(file), specifier)),
      ]),
    )
    .filter(([from, to]) => from !== to)
    .map((pair) => pair.join(' → ')),
)

function reach(from: string): string[] {
  return arrows.filter(([start]) => start === from).flatMap(([, to = '']) => [to, ...reach(to)])
}

describe('docs: the picture of the rooms', () => {
  it('has a box for every folder and file of src, and for nothing else', () => {
    expect([...boxes.values()].flat().sort()).to.deep.equal(readdirSync(SRC).sort())
  })

  it('has no arrow that is not an import, and leads along its arrows to every room that is imported', () => {
    expect(imports.size).to.be.greaterThan(arrows.length)
    for (const arrow of arrows) expect([...imports], 'arrow').to.include(arrow.join(' → '))
    const reached = [...boxes.keys()].flatMap((from) => reach(from).map((to) => `${from} → ${to}`))
    expect(reached).to.include.members([...imports])
  })
})

describe('docs: the tables', () => {
  let database: Database
  before(async () => {
    database = await openDatabase('sqlite')
  })
  after(() => database.close())

  const ask = async (sql: string): Promise<string[]> => {
    const rows = await database.sequelize.query<{ name: string }>(sql, { type: QueryTypes.SELECT })
    return rows.map(({ name }) => name)
  }
  const told = (table: string, kind: number) =>
    [...sectionOf(PAGE, `\`${table}\``).matchAll(/^\| (?:column|index) .*\n.*\n((?:\|.*\n)+)/gm)]
      .slice(kind, kind + 1)
      .flatMap(([text]) => rowsOf(text))
      .map(([cell = '']) => codeOf(cell)[0])

  it('are all named, and ours with every column', async () => {
    const tables = await ask(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
    )
    expect(tables).to.include.members(['subject_tokens', 'oidc_models'])
    for (const table of tables) {
      expect(PAGE).to.include(`\`${table}\``)
      if (table.startsWith('impersonation_')) continue
      const columns = await ask(`SELECT name FROM pragma_table_info('${table}')`)
      expect(told(table, 0), table).to.have.members(columns)
    }
  })

  it('have the indexes that the page lists', async () => {
    const tables = await ask(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'subject_token%'`,
    )
    expect(tables).to.have.length.greaterThan(3)
    for (const table of tables) {
      const indexes = await ask(`SELECT name FROM pragma_index_list('${table}')`)
      const columns = await Promise.all(
        indexes.map(async (index) =>
          (await ask(`SELECT name FROM pragma_index_info('${index}')`)).join(', '),
        ),
      )
      expect(told(table, 1), table).to.have.members(columns)
    }
    const models = await ask(`SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL
      AND tbl_name = 'oidc_models'`)
    const section = codeOf(sectionOf(PAGE, '`oidc_models`'))
    expect(section).to.include.members(models.map((index) => index.replace('oidc_models_', '')))
  })
})
