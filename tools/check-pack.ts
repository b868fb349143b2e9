/** The package holds what its users need, and nothing else. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

const EXPECTED = [
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'bench/README.md',
  ...readdirSync('docs').flatMap((name) =>
    name.endsWith('.md') ? `docs/${name}` : readdirSync(`docs/${name}`).map((file) => `docs/${name}/${file}`),
  ),
  'openapi.json',
  'package.json',
].sort()

const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' })
const [pack]: { files: { path: string }[] }[] = Object.values(JSON.parse(output))
const files = (pack?.files ?? []).map(({ path }) => path)
const outside = files.filter((file) => !file.startsWith('dist/')).sort()
if (outside.join() !== EXPECTED.join()) {
  console.error(`the package must hold dist/ and ${EXPECTED.join(', ')}, but holds`, outside)
  process.exit(1)
}
for (const entry of [
  'dist/index.js',
  'dist/index.d.ts',
  'dist/sequelize/index.js',
  'dist/sequelize/index.d.ts',
  'dist/console/index.js',
  'dist/console/index.d.ts',
  'dist/testing/index.js',
  'dist/testing/index.d.ts',
]) {
  if (!files.includes(entry)) {
    console.error(`the package lacks ${entry}`)
    process.exit(1)
  }
}

const banner = statSync('packages/banner/src/banner.js').size
if (banner > 6000) {
  console.error(`the banner must not be larger than 6,000 bytes, as docs/banner.md says, but has ${banner}`)
  process.exit(1)
}

// What people see at the registry: a link that leads nowhere there leads nowhere at all.
for (const page of ['README.md', 'SECURITY.md', 'CHANGELOG.md']) {
  const links = [...readFileSync(page, 'utf8').matchAll(/(?:\]\(|(?:src|srcset)=")([^)"#:\s]+)(?=[)"#])/g)]
  const broken = links.map(([, link = '']) => path.normalize(link)).filter((link) => !files.includes(link))
  if (broken.length > 0) {
    console.error(`${page} links to files that the package does not hold:`, broken)
    process.exit(1)
  }
}
console.log(`package content as intended: ${files.length} files`)
