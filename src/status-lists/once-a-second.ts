/**
 * Calls `read` at most once a second, however many ask, and remembers for that second what it returned or threw. The
 * second counts from the start of the call: what has happened since then may be missing from the result.
 */
export function onceASecond<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let last: { readonly startedAt: number; readonly result: Promise<Result> } | undefined
  let underWay = false
  return () => {
    const age = last ? Date.now() - last.startedAt : Number.POSITIVE_INFINITY
    // A clock that was set back makes it look younger than it is.
    if (last && (underWay || (age >= 0 && age < 1000))) return last.result
    underWay = true
    const startedAt = Date.now()
    const result = read().finally(() => {
      underWay = false
    })
    last = { startedAt, result }
    return result
  }
}
