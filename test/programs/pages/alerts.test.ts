/** The alert rules, over series that were recorded from real runs: what docs/alerts.md says of each run, to the second. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import {
  INTERVAL,
  inputOf,
  type Recording,
  type Run,
  readRecording,
} from '../../../fixtures/alerts/recording.ts'
import { ROOT, readPage } from '../../../fixtures/markdown.ts'
import { codeOf, rowsOf, sectionOf } from '../../../fixtures/page.ts'

const RULES = path.join(ROOT, 'docs/observability/alerts.yml')
const PAGE = readPage('docs/alerts.md')
const text = readFileSync(RULES, 'utf8')
const ALERTS = [...text.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name)

/** What the page says: when each alert fires, in seconds after the fault began. The others never do. */
const told = new Map(
  rowsOf(sectionOf(PAGE, 'When they fire')).map(([run = '', fires = '']) => [
    codeOf(run).at(-1) ?? '',
    new Map(
      [...fires.matchAll(/`(\w+)` (\d+) s/g)].map(([, alert = '', seconds]) => [alert, Number(seconds)]),
    ),
  ]),
)

interface Expression {
  readonly expr: string
  readonly eval_time: string
  readonly exp_samples: readonly object[]
}

/** Whether an alert fires at a time. */
const firing = (alert: string, at: number, fires: boolean): Expression => ({
  expr: `max by (alertname) (ALERTS{alertname="${alert}", alertstate="firing"})`,
  eval_time: `${at}s`,
  exp_samples: fires ? [{ labels: `{alertname="${alert}"}`, value: 1 }] : [],
})

function expressionsOf(
  { length, fault: [begins, ends] = [0, 0] }: Run,
  fires: ReadonlyMap<string, number>,
): Expression[] {
  const times = Array.from({ length }, (_, scrape) => scrape * INTERVAL)
  return ALERTS.flatMap((alert) => {
    const after = fires.get(alert)
    if (after === undefined) return times.map((at) => firing(alert, at, false))
    const at = begins + after
    expect(at).to.be.at.most(Math.max(ends, begins + 60))
    return [
      ...times.filter((time) => time < at).map((time) => firing(alert, time, false)),
      firing(alert, at, true),
      firing(alert, times.at(-1) ?? 0, false),
    ]
  })
}

/** The labels that a Prometheus adds to what it scrapes. */
const scraped = (series: string): string => {
  const [name = '', labels = ''] = series.replace('}', '').split('{')
  const job = name.includes('verifier') ? 'orders-api' : 'provider'
  return `${name}{${[labels, `job="${job}"`, 'instance="a"'].filter(Boolean).join(',')}}`
}

/** Where these series are scraped, this is so. */
async function expectOf(
  series: Readonly<Record<string, string>>,
  ...promql_expr_test: readonly Expression[]
): Promise<void> {
  const interval = `${INTERVAL}s`
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }))
  const tests = [{ interval, input_series, promql_expr_test }]
  const folder = mkdtempSync(path.join(tmpdir(), 'impersonation-alerts-'))
  const file = path.join(folder, 'test.json')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: interval, tests }))
  try {
    await promisify(execFile)('promtool', ['test', 'rules', file], { maxBuffer: 2 ** 26 })
  } catch (error) {
    const { stdout, stderr } = Object(error)
    expect.fail(`${stdout}${stderr}`.slice(0, 3000))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Alerts that fire in no recorded run: series that are written by hand, and after how many seconds they fire. */
const WRITTEN: readonly (readonly [
  alert: string,
  fires: number,
  series: Readonly<Record<string, string>>,
])[] = [
  ['ImpersonationReplay', 60, { 'impersonation_replays_total{impersonation_client="other"}': '0x11 1x40' }],
  ['ImpersonationStopsDoNotArrive', 75, { impersonation_verifier_status_list_age: '0+5x40' }],
  [
    'ImpersonationStatusListsFail',
    75,
    {
      'impersonation_operations_total{impersonation_operation="status_list",impersonation_outcome="failed"}':
        '0x11 1x40',
    },
  ],
  [
    'ImpersonationLogoutsFail',
    65,
    { 'impersonation_logouts_total{impersonation_logout="gave_up"}': '0x11 1x40' },
  ],
  [
    'ImpersonationSlow',
    125,
    {
      'impersonation_exchange_duration_bucket{impersonation_outcome="done",le="5"}': '0x60',
      'impersonation_exchange_duration_bucket{impersonation_outcome="done",le="+Inf"}': '0+5x60',
    },
  ],
  [
    'ImpersonationProbed',
    60,
    {
      'impersonation_exchanges_total{impersonation_outcome="refused",impersonation_check="subject_token"}':
        '0x11 25x40',
    },
  ],
]

describe('docs: alerts', () => {
  const recording: Recording = readRecording()
  before(function () {
    if (spawnSync('promtool', ['--version']).status === 0) return
    if (process.env.CI === 'true') throw new Error('promtool is missing: .ci/install installs it')
    console.log('        promtool is missing: apt-get install prometheus')
    this.skip()
  })

  it('have a section each, in their order, and a severity', () => {
    const sections = [...PAGE.matchAll(/^### (Impersonation\w+)$/gm)].map(([, name]) => name)
    expect(sections).to.deep.equal(ALERTS)
    for (const alert of ALERTS) {
      const section = sectionOf(PAGE, alert)
      for (const part of ['It means', 'Look at', 'Do', 'Wake someone'])
        expect(section).to.include(`**${part}:**`)
    }
    expect([...text.matchAll(/severity: (page|ticket) /g)]).to.have.length(ALERTS.length)
  })

  it('ask for series that a deployment has', () => {
    const names = recording.series.map((series) => series.split('{')[0] ?? '')
    const asked = [...text.matchAll(/\b(impersonation_\w+)(?=\{|\[|\))/g)].map(([, name = '']) => name)
    const labels = ['impersonation_operation', 'impersonation_client', 'impersonation_function']
    expect(asked.length).to.be.greaterThan(10)
    expect([...names, ...labels]).to.include.members(asked)
  })

  it('were recorded in a run for each row of the page, and nothing else was', () => {
    expect(Object.keys(recording.runs)).to.have.members([...told.keys()])
    expect(told.get('quiet')).to.deep.equal(new Map())
    expect((recording.runs.quiet?.length ?? 0) * INTERVAL).to.be.at.least(600)
  })

  for (const [name, fires] of told) {
    it(`fire as the page says: ${name}`, async () => {
      const run = recording.runs[name] ?? expect.fail('there is no such run')
      const series = inputOf(recording, run).map(({ series, values }) => [scraped(series), values])
      await expectOf(Object.fromEntries(series), ...expressionsOf(run, fires))
    })
  }

  for (const [alert, fires, series] of WRITTEN) {
    it(`fires where it should, and not before: ${alert}`, () =>
      expectOf(series, firing(alert, fires - INTERVAL, false), firing(alert, fires, true)))
  }

  it('are each seen to fire', () => {
    const seen = [
      ...[...told.values()].flatMap((fires) => [...fires.keys()]),
      ...WRITTEN.map(([alert]) => alert),
    ]
    expect([...seen, 'ImpersonationClockSkew']).to.include.members(ALERTS)
  })

  it('fire for a clock that is off, and for no other', () =>
    expectOf(
      {
        'node_time_seconds{instance="a"}': '0+5x40',
        'node_time_seconds{instance="b"}': '20+5x40',
        'node_timex_offset_seconds{instance="a"}': '0.01+0x40',
        'node_timex_offset_seconds{instance="c"}': '3+0x40',
      },
      {
        expr: 'max by (instance) (ALERTS{alertname="ImpersonationClockSkew", alertstate="firing"})',
        eval_time: '90s',
        exp_samples: ['b', 'c'].map((instance) => ({ labels: `{instance="${instance}"}`, value: 1 })),
      },
    ))
})
