/**
 * Fails when a name that a package exports has no doc comment, or an option has none: editors show these comments,
 * and they are the only reference of the API. Reads the declarations that `npm run build` wrote.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { PACKAGES, readManifest } from '../fixtures/packed-package.ts'

/** Where a name is declared: its own file, and the name it has there. */
interface Declared {
  readonly file: string
  readonly name: string
}

function exportsOf(file: string): Declared[] {
  const text = readFileSync(file, 'utf8')
  const own = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type) (\w+)/gm),
  ].map(([, name = '']) => ({ file, name }))
  const passedOn = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)].flatMap(
    ([, names = '', specifier = '']) =>
      names
        .split(',')
        .map((one) => one.trim().replace(/^type /, ''))
        .filter((one) => one !== '')
        .map((one) => ({
          file: path.join(path.dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts')),
          name: one.split(' as ')[0] ?? one,
        })),
  )
  return [...own, ...passedOn]
}

/** The lines of a declaration, and whether a doc comment ends right above it. */
function declarationOf({ file, name }: Declared): { documented: boolean; lines: readonly string[] } {
  const lines = readFileSync(file, 'utf8').split('\n')
  const start = lines.findIndex((line) =>
    new RegExp(`^export (declare )?(abstract )?(const|function|class|interface|type) ${name}\\b`).test(line),
  )
  if (start === -1) return { documented: false, lines: [] }
  const end = lines.findIndex((line, index) => index >= start && /^(\}|.*;$)/.test(line) && !/^ /.test(line))
  return { documented: isComment(lines[start - 1]), lines: lines.slice(start, end + 1) }
}

const isComment = (line: string | undefined): boolean => line?.trimEnd().endsWith('*/') === true

/** Members of an options interface that no comment explains. */
function undocumentedMembers(name: string, lines: readonly string[]): string[] {
  if (!name.endsWith('Options')) return []
  return lines.flatMap((line, index) => {
    const [, member] = /^ {4}(?:readonly )?(\w+)\??[:(]/.exec(line) ?? []
    return member && !isComment(lines[index - 1]) ? [`${name}.${member}`] : []
  })
}

const problems: string[] = []
let names = 0
for (const [name, folder] of PACKAGES) {
  for (const [entry, target] of Object.entries(readManifest(folder).exports)) {
    if (typeof target === 'string') continue
    const door = path.join(name, entry)
    for (const declared of exportsOf(path.join(folder, target.types))) {
      names += 1
      const { documented, lines } = declarationOf(declared)
      if (!documented) problems.push(`${door}: ${declared.name}`)
      problems.push(...undocumentedMembers(declared.name, lines).map((member) => `${door}: ${member}`))
    }
  }
}
if (names === 0) problems.push('no exported name was found')
if (problems.length > 0) {
  console.error('exported without a doc comment:', problems)
  process.exit(1)
}
console.log(`${names} exported names, each with a doc comment`)
