import type { Group } from './group.ts'
import { bytes } from './requests/bytes.ts'
import { pages } from './requests/console.ts'
import { management } from './requests/management.ts'
import { token } from './requests/token.ts'
import { walk } from './walk/index.ts'

export const GROUPS: readonly Group[] = [walk, token, management, pages, bytes]
