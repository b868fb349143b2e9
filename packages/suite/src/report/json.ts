/** For programs. */
import { isGreen, type Report } from '../run.ts'

/** One object for each run, with all its checks. */
export function json(reports: readonly Report[]): string {
  const runs = reports.map((report) => ({
    name: report.name,
    profiles: report.profiles,
    green: isGreen(report),
    results: report.results.map(({ check, outcome, detail, deviations, seconds }) => ({
      id: check.id,
      outcome,
      level: check.level,
      source: check.source,
      says: check.says,
      load: check.load ?? false,
      ...(detail !== undefined && { detail }),
      deviations,
      seconds,
    })),
  }))
  return `${JSON.stringify({ green: reports.every(isGreen), runs }, null, 2)}\n`
}
