/** The heap without its garbage. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | undefined

/** In bytes. */
export function heapAfterCollection(): number {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  // Twice: the first lets finalizers release what the second collects.
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
