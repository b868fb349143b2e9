/** Observable metrics: they are read when a reader asks, and cost requests nothing. */
import type { Meter } from '@opentelemetry/api'
import { epochTime, type Seconds } from '../base/clock.ts'
import type { StoreMeasures } from '../tokens/store.ts'
import { attributes } from './series.ts'

/** The readings that one provider of this process offers. */
export interface Source {
  /** Absent where the store counts nothing. */
  measures(): StoreMeasures | undefined
  /** When its newest status list was signed; `undefined` while no one has asked for one. */
  newestListAt(): Seconds | undefined
  /** Sessions that are open, as far as is known now; absent where there are none. */
  openSessions?(): number | undefined
}

/** Weak, and held by what they belong to: that a provider is measured must not keep it. */
const sources = new Set<WeakRef<Source>>()
const held = new WeakMap<object, Source>()

export function addSource(provider: object, source: Source): void {
  held.set(provider, source)
  sources.add(new WeakRef(source))
}

function present(): Source[] {
  const found: Source[] = []
  for (const reference of sources) {
    const source = reference.deref()
    if (source) found.push(source)
    else sources.delete(reference)
  }
  return found
}

/** Several providers of one process are added up. Those that share a database are counted once. */
const counted = (): StoreMeasures[] => [...new Set(present().flatMap((source) => source.measures() ?? []))]

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

export function observe(meter: Meter): void {
  meter
    .createObservableCounter('impersonation.storage.failures', {
      description: 'Statements that failed, each attempt, by what became of it',
      unit: '{failure}',
    })
    .addCallback((result) => {
      const all = counted()
      for (const fate of new Set(all.flatMap(({ failures }) => Object.keys(failures))))
        result.observe(sum(all.map(({ failures }) => failures[fate] ?? 0)), attributes.fate(fate))
    })
  meter
    .createObservableCounter('impersonation.storage.connection.waits', {
      description: 'How often a connection to the database was waited for',
      unit: '{wait}',
    })
    .addCallback((result) => result.observe(sum(counted().map(({ waits }) => waits))))
  meter
    .createObservableCounter('impersonation.storage.connection.wait_time', {
      description: 'How long connections to the database were waited for, all waits together',
      unit: 's',
    })
    .addCallback((result) => result.observe(sum(counted().map(({ waited }) => waited))))
  meter
    .createObservableUpDownCounter('impersonation.storage.connection.pending_requests', {
      description: 'How many wait for a connection to the database now',
      unit: '{request}',
    })
    .addCallback((result) => result.observe(sum(counted().map(({ waiting }) => waiting))))
  meter
    .createObservableUpDownCounter('impersonation.sessions.open', {
      description:
        'Sessions that have not ended, or whose application has not confirmed it; of all processes',
      unit: '{session}',
    })
    .addCallback((result) => {
      const open = present().flatMap((source) => source.openSessions?.() ?? [])
      if (open.length > 0) result.observe(sum(open))
    })
  meter
    .createObservableGauge('impersonation.status_list.age', {
      description: 'How long ago the newest status list was signed, of the issuer where that is longest ago',
      unit: 's',
    })
    .addCallback((result) => {
      const ages = present().flatMap((source) => {
        const at = source.newestListAt()
        return at === undefined ? [] : [Math.max(0, epochTime() - at)]
      })
      if (ages.length > 0) result.observe(Math.max(...ages))
    })
}
