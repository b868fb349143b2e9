import type { ResolvedOptions, ResolvedSessions } from '../options.ts'
import type { Service } from '../provider/settings.ts'
import type { Seal } from './seal.ts'
import type { SessionWatch } from './watch.ts'

/** A service with the option `sessions`: what the door, an arrival and its tokens work with. */
export interface SessionService extends Service {
  readonly options: ResolvedOptions & { readonly sessions: ResolvedSessions }
  readonly seal: Seal
  readonly watch: SessionWatch
}
