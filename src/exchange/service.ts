import type { ResolvedOptions } from '../options.ts'
import type { Settings } from '../provider/settings.ts'
import type { StatusLists } from '../provider/status-reference.ts'
import type { SubjectTokenStore } from '../subject-tokens/store.ts'

/** What all exchanges of a provider share. */
export interface ExchangeService {
  readonly store: SubjectTokenStore
  readonly options: ResolvedOptions
  readonly settings: Settings
  /** Absent where the deployment has none. */
  readonly statusLists: StatusLists | undefined
}
