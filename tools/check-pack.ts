/** Each package holds what its users need, and nothing else, and no link of its pages leads nowhere. */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { PACKAGES, REPOSITORY, readManifest } from '../fixtures/packed-package.ts'

const ALWAYS = ['LICENSE', 'README.md', 'package.json']
/** Besides these and `dist/`. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'oidc-provider-impersonation': [
    'CHANGELOG.md',
    'SECURITY.md',
    // Without the pages for those who have the repository.
    ...globSync('docs/!(README).md'),
    'docs/observability/alerts.yml',
    'docs/openapi.json',
  ],
  'token-exchange-suite': globSync('packages/suite/template/*').map((file) =>
    file.replace('packages/suite/', ''),
  ),
  'oidc-provider-impersonation-banner': ['src/banner.d.ts', 'src/banner.js'],
}

const faults: string[] = []

const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--workspaces', '--include-workspace-root']
const output = execFileSync('npm', args, { encoding: 'utf8' })
const packs: { name: string; size: number; files: { path: string }[] }[] = Object.values(JSON.parse(output))

for (const [name, folder] of PACKAGES) {
  const { size = 0, files = [] } = packs.find((pack) => pack.name === name) ?? {}
  const held = files.map((file) => file.path)
  checkContents(name, folder, held)
  for (const page of held.filter((file) => file.endsWith('.md'))) checkLinks(name, folder, page, held)
  console.log(`${name}: ${held.length} files, ${Math.round(size / 1000)} kB`)
}

function checkContents(name: string, folder: string, held: readonly string[]): void {
  // What pages consist of lies beside the code that reads it.
  const assets = globSync('src/**/*.css', { cwd: folder }).map((file) => file.replace(/^src/, 'dist'))
  const expected = [...ALWAYS, ...assets, ...(EXPECTED[name] ?? [])]
  const { exports, bin = {} } = readManifest(folder)
  // The condition is for this repository, whose tests take what was written.
  const entries = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [target] : [target.types, target.default],
  )
  for (const file of held.filter((file) => !file.startsWith('dist/') && !expected.includes(file)))
    faults.push(`${name} holds ${file}, which its users do not need`)
  for (const file of [...expected, ...entries, ...Object.values(bin)].map((file) => path.normalize(file)))
    if (!held.includes(file)) faults.push(`${name} lacks ${file}`)
}

/** Pictures are shown from the repository. */
function checkLinks(name: string, folder: string, page: string, held: readonly string[]): void {
  const text = readFileSync(path.join(folder, page), 'utf8').replace(/^```.*?^```$/gms, '')
  for (const [, link = ''] of text.matchAll(/(?:\]\(|(?:href|src|srcset)=")([^)"#:\s]+)(?=[)"#])/g)) {
    const target = path.join(path.dirname(page), link)
    if (held.includes(target) || target.endsWith('.png')) continue
    const absolute = `${REPOSITORY}/blob/main/${path.join(folder, target)}`
    faults.push(`${name} does not hold what ${page} links to, ${link}: write ${absolute}`)
  }
}

const banner = statSync('packages/banner/src/banner.js').size
if (banner > 14_000)
  faults.push(`the banner must not be larger than 14,000 bytes, as docs/banner.md says, but has ${banner}`)

if (faults.length > 0) {
  console.error(faults.join('\n'))
  process.exit(1)
}
