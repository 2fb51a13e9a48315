// SPDX-License-Identifier: MIT
// Names and numbers of the generic netlink family of xcm.ko. A message has one attribute: a packet
// as monitor/xcm.h lays it out.
#ifndef XCM_LINUX_NETLINK_H
#define XCM_LINUX_NETLINK_H

#define XCM_GENL_FAMILY "XCM"
#define XCM_GENL_EVENTS "events"
enum { XCM_GENL_PACKET = 1 }; // command
enum { XCM_GENL_BYTES = 1 };  // attribute

#endif
