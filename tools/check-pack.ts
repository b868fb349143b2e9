/** The package holds what its users need, and nothing else. */
import { execFileSync } from 'node:child_process'

const EXPECTED = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'openapi.json', 'package.json']

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
  'dist/resource-server/index.js',
  'dist/resource-server/index.d.ts',
  'dist/testing/index.js',
  'dist/testing/index.d.ts',
]) {
  if (!files.includes(entry)) {
    console.error(`the package lacks ${entry}`)
    process.exit(1)
  }
}
console.log(`package content as intended: ${files.length} files`)
